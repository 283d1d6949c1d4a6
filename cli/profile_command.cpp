// sconce profile: where the time of a prefill and of decode steps goes, as tables and as a trace.
#include <algorithm>
#include <fstream>
#include <map>

#include "base/error.h"
#include "cli/command.h"
#include "cli/elements.h"
#include "cli/load.h"
#include "cli/profile.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "sconce/generator.h"

namespace sconce::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string model, method = "forward", trace;
  size_t prefill = 128, decode = 8;
  bool fill_weights = false;
};

// Events of Chrome's trace format (chrome://tracing, ui.perfetto.dev): times in microseconds, a row for the host and
// one for each kernel.
class Trace {
 public:
  // One run. The two clocks meet where the host's wait and the last kernel end.
  void add(const std::vector<HostTime>& host, const std::vector<KernelTime>& kernels) {
    if (host.empty()) return;
    if (origin_ns_ == 0) origin_ns_ = host.front().start_ns;
    for (const HostTime& time : host) add(time.what, 0, microseconds(time.start_ns), time.nanoseconds, {});
    if (kernels.empty()) return;
    const double host_end = microseconds(host.back().start_ns + host.back().nanoseconds);
    const KernelTime& last = kernels.back();
    const uint64_t end_ns = last.start_ns + last.nanoseconds;
    for (const KernelTime& time : kernels)
      add(time.kernel, row_of(time.kernel), host_end - static_cast<double>(end_ns - time.start_ns) / 1e3,
          time.nanoseconds, {{"operator", time.op}, {"node", time.node}, {"bytes", time.bytes}});
  }

  Json finish() {
    for (const auto& [kernel, row] : rows_) name_row(row, kernel);
    name_row(0, "host");
    return {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events_)}};
  }

 private:
  double microseconds(uint64_t ns) const { return static_cast<double>(ns - origin_ns_) / 1e3; }
  size_t row_of(const std::string& kernel) { return rows_.try_emplace(kernel, rows_.size() + 1).first->second; }
  void add(const std::string& name, size_t row, double start_us, uint64_t nanoseconds, Json details) {
    Json event = {{"name", name}, {"ph", "X"}, {"pid", 1}, {"tid", row}, {"ts", start_us}};
    event["dur"] = static_cast<double>(nanoseconds) / 1e3;
    if (!details.empty()) event["args"] = std::move(details);
    events_.push_back(std::move(event));
  }
  void name_row(size_t row, const std::string& name) {
    events_.push_back({{"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", row}, {"args", {{"name", name}}}});
  }

  uint64_t origin_ns_ = 0;
  std::map<std::string, size_t> rows_;
  Json events_ = Json::array();
};

// Prints a table of the kernels since the last call and adds them to the trace.
void report(const char* title, Session& session, Trace& trace) {
  const std::vector<KernelTime> kernels = session.take_profile();
  trace.add(session.take_host_times(), kernels);
  fmt::print("{}\n", title);
  print_profile(stdout, kernels);
}

Result<void> measure(Generator& generator, const Options& options, Trace& trace) {
  RandomNumbers random(options.prefill);
  std::vector<int32_t> prompt(options.prefill);
  for (int32_t& token : prompt) token = static_cast<int32_t>(random.next() % generator.vocabulary());
  // The first answer is not counted: it makes pipelines and raises the clock.
  for (bool counts : {false, true}) {
    SCONCE_DO(generator.reset());
    SCONCE_DO(generator.begin(prompt, {.max_new_tokens = options.decode + 1}));
    generator.session().take_profile();
    generator.session().take_host_times();
    for (size_t step = 0;; ++step) {
      SCONCE_TRY(std::optional<int32_t> token, generator.next([] { return !interrupted(); }));
      if (interrupted()) return fail(ErrorCode::cancelled, "The profile is interrupted.");
      if (!token) break;
      if (!counts) continue;
      report(step == 0 ? fmt::format("prefill of {} tokens", options.prefill).c_str()
                       : fmt::format("decode step {} behind {} tokens", step, options.prefill).c_str(),
             generator.session(), trace);
    }
  }
  return {};
}

Result<ExitCode> profile(const Options& options, const GlobalOptions& globals) {
  SCONCE_TRY(Device device, open_device(globals));
  SCONCE_TRY(Model model, load_model(device, options.model, globals, options.fill_weights));
  SCONCE_TRY(Generator generator,
             Generator::create(model, options.method, {.session = {.profile = true}, .steps_ahead = 1}));
  Trace trace;
  SCONCE_DO(measure(generator, options, trace));
  if (options.trace.empty()) return kOk;
  std::ofstream file(options.trace);
  file << trace.finish().dump();
  if (!file.flush()) return fail(ErrorCode::io, "The trace cannot be written to '{}'.", options.trace);
  return kOk;
}

}  // namespace

void add_profile(CLI::App& app, Action& action) {
  auto [command, options] = add_command<Options>(app, action, "profile",
                                                 "Show where a language model's time goes, kernel by kernel", profile);
  command->add_option("model", options->model, "A .pte file or a model directory")->required()->type_name("MODEL");
  command->add_option("--method", options->method, "The method to run")->capture_default_str();
  command->add_option("--prefill", options->prefill, "Tokens of the prompt")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--decode", options->decode, "Decode steps behind it")->capture_default_str();
  command->add_option("--trace", options->trace, "Write a trace for chrome://tracing or ui.perfetto.dev")
      ->type_name("FILE");
  command->add_flag("--fill-weights", options->fill_weights, "Make weights up, for programs of `sconce strip`");
  command->footer(
      R"(A table a run on stdout: kernels with their count, time, the live bytes that they bind a second, and
share. The trace has a row a kernel and one for the host: plan, encode, submit, wait. Each kernel is timed in
a compute pass of its own and each run is waited for, so the sum is larger than an unprofiled run.

Example:
  sconce profile MODEL_DIR --prefill 128 --decode 2 --trace trace.json)");
}

}  // namespace sconce::cli
