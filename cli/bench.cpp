// sconce bench: how fast a language model loads, plans, prefills and decodes here.
#include <chrono>

#include "base/error.h"
#include "cli/bench_report.h"
#include "cli/checks.h"
#include "cli/command.h"
#include "cli/elements.h"
#include "cli/load.h"
#include "cli/memory.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "sconce/generator.h"

namespace sconce::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string model, method = "forward";
  std::vector<size_t> prefill = {37, 128}, context = {128};
  size_t decode = 64, repeat = 3;
  std::optional<double> warm_up;
  bool json = false, fill_weights = false;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<int32_t> random_tokens(size_t count, size_t vocabulary) {
  RandomNumbers random(count);
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) token = static_cast<int32_t>(random.next() % vocabulary);
  return tokens;
}

class Bench {
 public:
  Bench(Generator& generator, const Options& options, double warm_up)
      : generator_(generator), options_(options), warm_up_(warm_up) {}

  // A prompt on an empty cache, up to its first new token.
  Result<BenchReport::Prefill> prefill(size_t count) {
    BenchReport::Prefill run{.tokens = count};
    SCONCE_TRY(run.seconds, measure([&]() -> Result<double> {
                 SCONCE_DO(generator_.reset());
                 SCONCE_DO(begin(count, 1, true));
                 return generator_.times().first_token_s;
               }));
    run.dispatches = generator_.session().statistics().dispatches;
    return run;
  }

  // Steps behind a prompt whose rows stay in the cache: only its last token runs again each time.
  Result<BenchReport::Decode> decode(size_t context, bool logits) {
    BenchReport::Decode run{.context = context, .steps = options_.decode, .logits = logits};
    SCONCE_CHECK(
        context + run.steps <= generator_.context_length(),
        "{} steps behind {} tokens do not fit the model's context of {} tokens; measure fewer (--decode) or at "
        "a shorter --context.",
        run.steps, context, generator_.context_length());
    std::vector<double> replans;
    SCONCE_DO(generator_.reset());
    SCONCE_TRY(run.seconds, measure([&]() -> Result<double> {
                 SCONCE_DO(begin(context, run.steps + 1, logits));
                 while (true) {
                   SCONCE_TRY(std::optional<int32_t> token, generator_.next());
                   if (!token) break;
                   replans.push_back(generator_.session().statistics().replan_us);
                 }
                 return generator_.times().decode_s;
               }));
    run.dispatches = generator_.session().statistics().dispatches;
    run.replan_us = median(replans);
    return run;
  }

 private:
  // The median time of `repeat` runs. Runs before them do not count: as many as fill the warm-up time, which a GPU
  // needs to raise its clock, and one at least.
  template <typename Run>
  Result<double> measure(Run run) {
    const auto start = Clock::now();
    std::vector<double> seconds;
    bool warm = false;
    while (seconds.size() < options_.repeat) {
      if (interrupted()) return fail(ErrorCode::cancelled, "The measurement is interrupted.");
      SCONCE_TRY(double time, run());
      if (warm) seconds.push_back(time);
      warm = warm || seconds_since(start) >= warm_up_;
    }
    return median(seconds);
  }

  Result<void> begin(size_t count, size_t new_tokens, bool logits) {
    GenerationOptions options;
    options.max_new_tokens = new_tokens;
    options.read_logits = logits;
    SCONCE_DO(generator_.begin(random_tokens(count, generator_.vocabulary()), options));
    SCONCE_DO(generator_.next([] { return !interrupted(); }));
    return {};
  }

  Generator& generator_;
  const Options& options_;
  double warm_up_;
};

Result<ExitCode> bench(const Options& options, const GlobalOptions& globals) {
  BenchReport report;
  const auto start = Clock::now();
  SCONCE_TRY(Device device, open_device(globals));
  SCONCE_TRY(Model model, load_model(device, options.model, globals, options.fill_weights));
  SCONCE_TRY(Generator generator, Generator::create(model, options.method));
  report.load_s = seconds_since(start);
  report.adapter = device.adapter();
  report.device_is_host = report.adapter.adapter_class == AdapterClass::software;
  report.repeat = options.repeat;
  report.warm_up_s = options.warm_up.value_or(report.device_is_host ? 0.0 : 2.0);
  report.fast = globals.fast;
  report.fused = !globals.no_fuse;
  report.filled = options.fill_weights;

  Bench measure(generator, options, report.warm_up_s);
  for (size_t count : options.prefill) {
    SCONCE_TRY(BenchReport::Prefill run, measure.prefill(count));
    report.prefill.push_back(run);
  }
  for (size_t context : options.decode > 0 ? options.context : std::vector<size_t>{}) {
    for (bool logits : {false, true}) {
      SCONCE_TRY(BenchReport::Decode run, measure.decode(context, logits));
      report.decode.push_back(run);
    }
  }
  const RunStatistics statistics = generator.session().statistics();
  report.peak_resident_bytes = peak_resident_bytes();
  report.weight_bytes = model.weight_bytes();
  report.state_bytes = statistics.state_bytes;
  report.activation_bytes = statistics.activation_bytes;
  report.scratch_bytes = statistics.scratch_bytes;
  report.device_bytes = report.weight_bytes + statistics.device_bytes;
  report.program_bytes = std::filesystem::file_size(program_path(options.model));
  if (options.json)
    print_json(to_json(report));
  else
    print(report);
  return kOk;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto [command, options] = add_command<Options>(
      app, action, "bench", "Measure a language model: load, planning, prefill, decode, memory", bench);
  command->add_option("model", options->model, "A .pte file or a model directory")->required()->type_name("MODEL");
  command->add_option("--method", options->method, "The method to run")->capture_default_str();
  command->add_option("--prefill", options->prefill, "Prompt lengths to measure")
      ->delimiter(',')
      ->type_name("TOKENS,...")
      ->check(whole_number(1))
      ->capture_default_str();
  command->add_option("--decode", options->decode, "Decode steps to measure; 0: none")
      ->check(whole_number())
      ->capture_default_str();
  command->add_option("--context", options->context, "Tokens in the cache before the first decode step")
      ->delimiter(',')
      ->type_name("TOKENS,...")
      ->check(whole_number(1))
      ->capture_default_str();
  command->add_option("--repeat", options->repeat, "Runs of which the median counts")
      ->check(whole_number(1))
      ->capture_default_str();
  command
      ->add_option("--warm-up", options->warm_up,
                   "Seconds of runs before each measurement; one run at least (default: 2 on a GPU, else 0)")
      ->check(number_between(0));
  command->add_flag("--fill-weights", options->fill_weights,
                    "Make weights up instead of reading them: for programs of `sconce strip`");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      R"(All times are wall-clock, host to host. Prompts are random tokens and answers have the length that is
asked for. A prefill ends with its first new token and its logits on the host. Decode steps are measured
twice: with tokens chosen on the GPU alone, and with the logits of every step read back as well. replan is
the host's planning of a step, the median. The host's peak is the process's peak resident memory (VmHWM)
less the size of the mapped program and, on a software adapter, less the device's buffers.

Examples:
  sconce bench MODEL_DIR
  sconce bench model.stripped --fill-weights
  sconce bench MODEL_DIR --prefill 1,37,255 --decode 64 --context 128,256 --repeat 5 --json)");
}

}  // namespace sconce::cli
