// sconce generate: answers of a language model, once or as a chat.
#include <chrono>
#include <random>

#include "base/error.h"
#include "cli/answer.h"
#include "cli/checks.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/terminal.h"
#include "cli/text.h"

namespace sconce::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string model;
  std::optional<std::string> prompt, system;
  bool chat = false, greedy = false, no_template = false, json = false;
  std::optional<float> temperature, top_p, min_p;
  std::optional<int32_t> top_k;
  std::optional<uint64_t> seed;
  std::optional<size_t> max_new_tokens;
  std::vector<std::string> stop;
};

// What the user says goes before what the model's makers say; as there, sampling must be asked for.
SamplingOptions choose_sampling(const Options& options, const GenerationDefaults& defaults) {
  const bool asked = options.temperature || options.top_p || options.min_p || options.top_k;
  if (options.greedy || (!asked && !defaults.do_sample.value_or(false))) return {};
  SamplingOptions sampling;
  sampling.temperature = options.temperature.value_or(static_cast<float>(defaults.temperature.value_or(1.0)));
  sampling.top_k = options.top_k.value_or(static_cast<int32_t>(defaults.top_k.value_or(0)));
  sampling.top_p = options.top_p.value_or(static_cast<float>(defaults.top_p.value_or(1.0)));
  sampling.min_p = options.min_p.value_or(static_cast<float>(defaults.min_p.value_or(0.0)));
  sampling.seed = options.seed ? *options.seed : std::random_device()();
  return sampling;
}

GenerationOptions choose_generation(const Options& options, const GenerationDefaults& defaults) {
  GenerationOptions generation;
  generation.sampling = choose_sampling(options, defaults);
  generation.end_tokens = defaults.stop_tokens;
  if (options.max_new_tokens)
    generation.max_new_tokens = *options.max_new_tokens;
  else if (defaults.max_new_tokens)
    generation.max_new_tokens = static_cast<size_t>(*defaults.max_new_tokens);
  return generation;
}

// Everything that an answer needs, loaded.
struct Loaded {
  ModelDirectory directory;
  Device device;
  Generator generator;
  double seconds = 0;  // from opening the device to the first possible answer
};

Result<Loaded> load(const Options& options, const GlobalOptions& globals) {
  const auto start = Clock::now();
  SCONCE_TRY(ModelDirectory directory, ModelDirectory::open(options.model));
  SCONCE_TRY(Device device, open_device(globals));
  SCONCE_TRY(Model model, load_model(device, options.model, globals));
  SCONCE_TRY(Generator generator, Generator::create(model));
  const std::chrono::duration<double> elapsed = Clock::now() - start;
  return Loaded{std::move(directory), std::move(device), std::move(generator), elapsed.count()};
}

void print_closing_line(const Answer& answer, const Loaded& loaded) {
  const GenerationTimes& times = answer.times;
  fmt::print(stderr,
             "loaded in {:.1f} s | first token after {:.2f} s | prefill {} tokens, {:.1f} tokens/s | decode {} tokens, "
             "{:.1f} tokens/s | {} | {}\n",
             loaded.seconds, times.first_token_s, times.prefilled_tokens,
             per_second(static_cast<double>(times.prefilled_tokens), times.prefill_s), times.decode_steps,
             per_second(static_cast<double>(times.decode_steps), times.decode_s), loaded.device.adapter().name,
             answer.stop_reason);
}

nlohmann::ordered_json to_json(const Answer& answer, const Loaded& loaded, const GenerationOptions& generation) {
  const GenerationTimes& times = answer.times;
  return {
      {"text", answer.text},
      {"stop_reason", answer.stop_reason},
      {"prompt_tokens", times.prompt_tokens},
      {"prefilled_tokens", times.prefilled_tokens},
      {"new_tokens", times.new_tokens},
      {"load_s", loaded.seconds},
      {"first_token_s", times.first_token_s},
      {"prefill_tokens_per_s", per_second(static_cast<double>(times.prefilled_tokens), times.prefill_s)},
      {"decode_tokens_per_s", per_second(static_cast<double>(times.decode_steps), times.decode_s)},
      {"seed", generation.sampling.seed},
      {"adapter", loaded.device.adapter().to_string()},
  };
}

// Streams the answer to stdout, ends it with a line break and prints the closing line. With --json there is one object
// on stdout instead.
Result<Answer> answer_aloud(Loaded& loaded, std::span<const int32_t> prompt, const Options& options,
                            const GenerationOptions& generation, const GlobalOptions& globals) {
  auto show = [&](std::string_view piece) {
    if (options.json) return;
    std::fwrite(piece.data(), 1, piece.size(), stdout);
    if (!stdout_is_written()) loaded.generator.cancel();  // nobody reads the rest; run() in main.cpp says so
  };
  auto result = answer(loaded.generator, loaded.directory.tokenizer, prompt, generation, options.stop, show);
  if (!options.json && result) show("\n");
  if (!result) return result;
  if (options.json)
    print_json(to_json(*result, loaded, generation));
  else if (!globals.quiet)
    print_closing_line(*result, loaded);
  return result;
}

Result<std::vector<int32_t>> encode_prompt(const Loaded& loaded, const std::string& prompt, const Options& options) {
  if (options.no_template) return loaded.directory.tokenizer.encode(prompt, /*add_special_tokens=*/true);
  std::vector<Message> messages;
  if (options.system) messages.push_back({"system", *options.system});
  messages.push_back({"user", prompt});
  return loaded.directory.encode_chat(messages);
}

Result<ExitCode> answer_once(Loaded& loaded, const std::string& prompt, const Options& options,
                             const GenerationOptions& generation, const GlobalOptions& globals) {
  SCONCE_TRY(std::vector<int32_t> tokens, encode_prompt(loaded, prompt, options));
  SCONCE_DO(answer_aloud(loaded, tokens, options, generation, globals));
  return interrupted() ? kInterrupted : kOk;
}

// What the user says next; nothing at the end of the chat.
std::optional<std::string> next_turn(const GlobalOptions& globals) {
  const bool show_prompt = stdin_is_terminal() && !globals.quiet;
  if (show_prompt) std::fputs("> ", stderr);
  std::optional<std::string> line = read_line();
  if (!line && show_prompt) std::fputs("\n", stderr);
  return line;
}

// One turn: on an error the conversation is as it was, and the user may go on.
void answer_turn(Loaded& loaded, std::vector<Message>& messages, const std::string& line, const Options& options,
                 const GenerationOptions& generation, const GlobalOptions& globals) {
  messages.push_back({"user", line});
  auto answered = [&]() -> Result<Answer> {
    SCONCE_TRY(std::vector<int32_t> tokens, loaded.directory.encode_chat(messages));
    return answer_aloud(loaded, tokens, options, generation, globals);
  }();
  forget_interrupt();  // it ended this answer, not the chat
  if (answered) {
    messages.push_back({"assistant", answered->text});
  } else {
    messages.pop_back();
    fmt::print(stderr, "error: {}\n", answered.error().to_string());
  }
}

Result<ExitCode> chat(Loaded& loaded, const Options& options, const GenerationOptions& generation,
                      const GlobalOptions& globals) {
  std::vector<Message> start;
  if (options.system) start.push_back({"system", *options.system});
  std::vector<Message> messages = start;
  if (stdin_is_terminal() && !globals.quiet)
    std::fputs("Ctrl-C ends an answer; /reset starts over; Ctrl-D ends the chat.\n", stderr);
  if (options.prompt) answer_turn(loaded, messages, *options.prompt, options, generation, globals);
  while (auto line = next_turn(globals)) {
    if (line->empty()) continue;
    if (*line == "/reset")
      messages = start;
    else
      answer_turn(loaded, messages, *line, options, generation, globals);
  }
  return interrupted() ? kInterrupted : kOk;  // Ctrl-C at the prompt
}

Result<ExitCode> generate(const Options& options, const GlobalOptions& globals) {
  SCONCE_TRY(Loaded loaded, load(options, globals));
  const GenerationOptions generation = choose_generation(options, loaded.directory.generation);
  if (options.chat) return chat(loaded, options, generation, globals);
  if (options.prompt) return answer_once(loaded, *options.prompt, options, generation, globals);
  if (stdin_is_terminal() && !globals.quiet) std::fputs("Type the prompt and end it with Ctrl-D.\n", stderr);
  const std::optional<std::string> input = read_all_input();
  if (!input) return kInterrupted;
  return answer_once(loaded, *input, options, generation, globals);
}

void add_sampling_options(CLI::App& command, Options& options) {
  CLI::Option* greedy = command.add_flag("--greedy", options.greedy, "Take the most likely token each time");
  for (CLI::Option* option :
       {command
            .add_option("--temperature", options.temperature,
                        "Below 1 keeps to the likely, above 1 varies more; 0 is greedy")
            ->check(number_between(0)),
        command.add_option("--top-k", options.top_k, "Sample among the K most likely tokens; 0: all")
            ->check(whole_number()),
        command.add_option("--top-p", options.top_p, "Sample among the likely tokens that make up this probability")
            ->check(number_between(0, 1)),
        command.add_option("--min-p", options.min_p, "Leave out tokens less likely than this part of the likeliest")
            ->check(number_between(0, 1))})
    greedy->excludes(option);
  command.add_option("--seed", options.seed, "The same seed gives the same answer (default: a new one each time)")
      ->check(whole_number());
}

}  // namespace

void add_generate(CLI::App& app, Action& action) {
  auto [command, options] =
      add_command<Options>(app, action, "generate", "Answer a prompt with a language model, or chat", generate);
  command->add_option("model", options->model, "A model directory: model.pte, tokenizer.json and their like")
      ->required()
      ->type_name("MODEL_DIR");
  command->add_option("prompt", options->prompt, "What to answer (default: read it from stdin)")->type_name("PROMPT");
  CLI::Option* chat = command->add_flag("--chat", options->chat, "Go on line by line, with the conversation in mind");
  command->add_option("--system", options->system, "The system message that comes first")->type_name("TEXT");
  command->add_flag("--no-template", options->no_template, "Complete the prompt as it is, without the chat template")
      ->excludes(chat);
  add_sampling_options(*command, *options);
  command->add_option("--max-new-tokens", options->max_new_tokens, "End an answer after this many tokens")
      ->check(whole_number())
      ->type_name("N");
  command->add_option("--stop", options->stop, "End an answer before this text; may be given several times")
      ->type_name("TEXT")
      ->take_all()
      ->expected(1);
  command->add_flag("--json", options->json, "Print the answer and its figures as JSON")->excludes(chat);
  command->footer(
      R"(The answer appears on stdout as it is made; a closing line with times goes to stderr. What the options
leave open comes from the model's generation_config.json; without it answers are greedy. An answer ends
at the model's end token ("stop"), at --stop ("stop_string"), at --max-new-tokens ("max_new_tokens"), when
the context is full ("length") or by Ctrl-C ("cancelled"); a second Ctrl-C ends the command.

Examples:
  sconce generate MODEL_DIR "What is the capital of France?" --greedy
  sconce generate MODEL_DIR --chat --temperature 0.7 --top-p 0.9 --system "Answer in one sentence."
  sconce generate MODEL_DIR --max-new-tokens 200 < prompt.txt > answer.txt
  sconce generate MODEL_DIR --no-template "Once upon a time" --seed 7 --temperature 1)");
}

}  // namespace sconce::cli
