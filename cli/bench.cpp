// sconce bench: how fast a language model loads, plans, prefills and decodes here.
#include <chrono>

#include "base/error.h"
#include "cli/command.h"
#include "cli/elements.h"
#include "cli/load.h"
#include "cli/memory.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "sconce/generator.h"

namespace sconce::cli {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string model, method = "forward";
  std::vector<size_t> prefill = {37, 128};
  size_t decode = 64, context = 128, repeat = 3, warmup = 1;
  bool json = false;
};

struct Report {
  double load_s = 0;
  double replan_us = 0;  // median over all measured decode steps
  struct Prefill {
    size_t tokens = 0;
    double seconds = 0;
  };
  std::vector<Prefill> prefill;
  struct Decode {
    size_t context = 0, steps = 0;
    double seconds = 0;  // of all steps
    size_t dispatches = 0;
  };
  std::optional<Decode> decode;
  uint64_t peak_resident_bytes = 0, device_bytes = 0, program_bytes = 0;
  bool device_is_host = false;  // a software adapter: its buffers are host memory
};

std::vector<int32_t> random_tokens(size_t count, size_t vocabulary) {
  RandomNumbers random(count);
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) token = static_cast<int32_t>(random.next() % vocabulary);
  return tokens;
}

// The time of each of `repeat` runs after `warmup` ones, in seconds.
template <typename Run>
Result<std::vector<double>> measure(const Options& options, Run run) {
  std::vector<double> seconds;
  for (size_t i = 0; i < options.warmup + options.repeat; ++i) {
    if (interrupted()) return fail(ErrorCode::cancelled, "The measurement is interrupted.");
    SCONCE_TRY(double time, run());
    if (i >= options.warmup) seconds.push_back(time);
  }
  return seconds;
}

// Starts a prompt of `count` random tokens on an empty cache and runs it up to its first new token.
Result<void> prefill(Generator& generator, size_t count, size_t new_tokens) {
  SCONCE_DO(generator.reset());
  GenerationOptions options;
  options.max_new_tokens = new_tokens;
  SCONCE_DO(generator.begin(random_tokens(count, generator.vocabulary()), options));
  SCONCE_DO(generator.next());
  return {};
}

Result<Report::Prefill> measure_prefill(Generator& generator, size_t count, const Options& options) {
  SCONCE_TRY(std::vector<double> seconds, measure(options, [&]() -> Result<double> {
               SCONCE_DO(prefill(generator, count, 1));
               return generator.times().prefill_s;
             }));
  return Report::Prefill{count, median(seconds)};
}

Result<void> measure_decode(Generator& generator, const Options& options, Report& report) {
  Report::Decode decode{options.context, options.decode};
  std::vector<double> replans;
  SCONCE_TRY(std::vector<double> seconds, measure(options, [&]() -> Result<double> {
               SCONCE_DO(prefill(generator, options.context, options.decode + 1));
               while (true) {
                 SCONCE_TRY(std::optional<int32_t> token, generator.next());
                 if (!token) break;
                 replans.push_back(generator.session().statistics().replan_us);
               }
               decode.steps = generator.times().decode_steps;
               return generator.times().decode_s;
             }));
  decode.seconds = median(seconds);
  decode.dispatches = generator.session().statistics().dispatches;
  report.replan_us = median(replans);
  report.decode = decode;
  return {};
}

// What the host needs beside the mapped file and, on a software adapter, beside the device's buffers.
uint64_t peak_host_bytes(const Report& report) {
  const uint64_t others = report.program_bytes + (report.device_is_host ? report.device_bytes : 0);
  return report.peak_resident_bytes > others ? report.peak_resident_bytes - others : 0;
}

void print(const Report& report, const std::string& adapter) {
  fmt::print("adapter    {}\n", adapter);
  fmt::print("load       {:.2f} s\n", report.load_s);
  for (const Report::Prefill& run : report.prefill)
    fmt::print("prefill    {:>5} tokens      {:>9.1f} tokens/s  {:>9.1f} ms\n", run.tokens,
               per_second(static_cast<double>(run.tokens), run.seconds), run.seconds * 1e3);
  if (report.decode) {
    const Report::Decode& decode = *report.decode;
    const auto steps = static_cast<double>(decode.steps);
    fmt::print("decode     {:>5} at {:<8} {:>9.1f} tokens/s  {:>9.1f} ms a step, {} dispatches\n", decode.steps,
               decode.context, per_second(steps, decode.seconds), per_second(decode.seconds, steps) * 1e3,
               decode.dispatches);
    fmt::print("replan     {:.1f} us a decode step\n", report.replan_us);
  }
  fmt::print("device     {} of buffers\n", format_bytes(report.device_bytes));
  fmt::print("host peak  {}: resident {} less the mapped program ({}){}\n", format_bytes(peak_host_bytes(report)),
             format_bytes(report.peak_resident_bytes), format_bytes(report.program_bytes),
             report.device_is_host ? " and the device's buffers, which are host memory here" : "");
}

Json to_json(const Report& report, const AdapterInfo& adapter, const Options& options, const GlobalOptions& globals) {
  Json json = {{"load_s", report.load_s},
               {"replan_us", report.replan_us},
               {"prefill", Json::array()},
               {"decode", Json::array()}};
  for (const Report::Prefill& run : report.prefill)
    json["prefill"].push_back({{"tokens", run.tokens},
                               {"seconds", run.seconds},
                               {"tokens_per_s", per_second(static_cast<double>(run.tokens), run.seconds)}});
  if (report.decode)
    json["decode"].push_back(
        {{"context", report.decode->context},
         {"steps", report.decode->steps},
         {"seconds", report.decode->seconds},
         {"tokens_per_s", per_second(static_cast<double>(report.decode->steps), report.decode->seconds)},
         {"dispatches", report.decode->dispatches}});
  json["peak_host_bytes"] = peak_host_bytes(report);
  json["peak_resident_bytes"] = report.peak_resident_bytes;
  json["program_bytes"] = report.program_bytes;
  json["device_bytes"] = report.device_bytes;
  json["device_memory_is_host_memory"] = report.device_is_host;
  json["repeat"] = options.repeat;
  json["mode"] = globals.fast ? "fast" : "checked";
  json["fused"] = !globals.no_fuse;
  json["adapter"] = cli::to_json(adapter);
  json["versions"] = {{"sconce", SCONCE_VERSION}, {"driver", adapter.driver}};
  return json;
}

Result<ExitCode> bench(const Options& options, const GlobalOptions& globals) {
  Report report;
  const auto start = Clock::now();
  SCONCE_TRY(Device device, open_device(globals));
  SCONCE_TRY(Model model, load_model(device, options.model, globals));
  SCONCE_TRY(Generator generator, Generator::create(model, options.method));
  report.load_s = std::chrono::duration<double>(Clock::now() - start).count();

  for (size_t count : options.prefill) {
    SCONCE_TRY(Report::Prefill run, measure_prefill(generator, count, options));
    report.prefill.push_back(run);
  }
  if (options.decode > 0) SCONCE_DO(measure_decode(generator, options, report));
  report.peak_resident_bytes = peak_resident_bytes();
  report.device_bytes = model.weight_bytes() + generator.session().statistics().device_bytes;
  report.program_bytes = std::filesystem::file_size(program_path(options.model));
  report.device_is_host = device.adapter().adapter_class == AdapterClass::software;
  if (options.json)
    print_json(to_json(report, device.adapter(), options, globals));
  else
    print(report, device.adapter().to_string());
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
      ->capture_default_str();
  command->add_option("--decode", options->decode, "Decode steps to measure; 0: none")->capture_default_str();
  command->add_option("--context", options->context, "Tokens in the cache before the first decode step")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--repeat", options->repeat, "Runs of which the median counts")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--warmup", options->warmup, "Runs before them that do not count")->capture_default_str();
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      R"(Times are wall-clock, host to host: inputs up, logits back, the next token chosen. Tokens are random with a
fixed seed. Planning is the median over all decode steps. Load runs from opening the device to a session
that is ready. The host's peak is the process's peak resident memory (VmHWM) less the size of the mapped
program and, on a software adapter, less the device's buffers.

Examples:
  sconce bench MODEL_DIR
  sconce bench MODEL_DIR --prefill 1,37,255 --decode 64 --context 256 --repeat 5 --json)");
}

}  // namespace sconce::cli
