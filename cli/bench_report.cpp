#include "cli/bench_report.h"

#include <fmt/format.h>

#include "cli/text.h"

namespace sconce::cli {
namespace {

using Json = nlohmann::ordered_json;

double rate(size_t tokens, double seconds) {
  return per_second(static_cast<double>(tokens), seconds);
}

// What the host needs beside the mapped file and, on a software adapter, beside the device's buffers.
uint64_t peak_host_bytes(const BenchReport& report) {
  const uint64_t others = report.program_bytes + (report.device_is_host ? report.device_bytes : 0);
  return report.peak_resident_bytes > others ? report.peak_resident_bytes - others : 0;
}

// The decode steps stand for themselves; scripts that want one figure take the first.
double replan_us(const BenchReport& report) {
  return report.decode.empty() ? 0 : report.decode.front().replan_us;
}

}  // namespace

void print(const BenchReport& report) {
  fmt::print("adapter    {}\n", report.adapter.to_string());
  fmt::print("load       {:.2f} s\n", report.load_s);
  for (const BenchReport::Prefill& run : report.prefill)
    fmt::print("prefill    {:>5} tokens      {:>9.1f} tokens/s  {:>9.2f} ms to the first token, {} dispatches\n",
               run.tokens, rate(run.tokens, run.seconds), run.seconds * 1e3, run.dispatches);
  for (const BenchReport::Decode& run : report.decode)
    fmt::print("decode     {:>5} at {:<8} {:>9.1f} tokens/s  {:>9.3f} ms a step, {}, {} dispatches, replan {:.1f} us\n",
               run.steps, run.context, rate(run.steps, run.seconds),
               per_second(run.seconds, static_cast<double>(run.steps)) * 1e3,
               run.logits ? "logits read back" : "sampled on the GPU", run.dispatches, run.replan_us);
  fmt::print("device     {}: weights {}, state {}, activations {}, scratch {}\n", format_bytes(report.device_bytes),
             format_bytes(report.weight_bytes), format_bytes(report.state_bytes), format_bytes(report.activation_bytes),
             format_bytes(report.scratch_bytes));
  fmt::print("host peak  {}: resident {} less the mapped program ({}){}\n", format_bytes(peak_host_bytes(report)),
             format_bytes(report.peak_resident_bytes), format_bytes(report.program_bytes),
             report.device_is_host ? " and the device's buffers, which are host memory here" : "");
}

Json to_json(const BenchReport& report) {
  Json json = {{"load_s", report.load_s}, {"replan_us", replan_us(report)}};
  json["prefill"] = Json::array();
  for (const BenchReport::Prefill& run : report.prefill)
    json["prefill"].push_back({{"tokens", run.tokens},
                               {"seconds", run.seconds},
                               {"first_token_s", run.seconds},
                               {"tokens_per_s", rate(run.tokens, run.seconds)},
                               {"dispatches", run.dispatches}});
  json["decode"] = Json::array();
  for (const BenchReport::Decode& run : report.decode)
    json["decode"].push_back({{"context", run.context},
                              {"mode", run.logits ? "logits" : "sampled"},
                              {"steps", run.steps},
                              {"seconds", run.seconds},
                              {"tokens_per_s", rate(run.steps, run.seconds)},
                              {"dispatches", run.dispatches},
                              {"replan_us", run.replan_us}});
  json["peak_host_bytes"] = peak_host_bytes(report);
  json["peak_resident_bytes"] = report.peak_resident_bytes;
  json["program_bytes"] = report.program_bytes;
  json["device_bytes"] = report.device_bytes;
  json["weight_bytes"] = report.weight_bytes;
  json["state_bytes"] = report.state_bytes;
  json["activation_bytes"] = report.activation_bytes;
  json["scratch_bytes"] = report.scratch_bytes;
  json["device_memory_is_host_memory"] = report.device_is_host;
  json["repeat"] = report.repeat;
  json["warm_up_s"] = report.warm_up_s;
  json["mode"] = report.fast ? "fast" : "checked";
  json["fused"] = report.fused;
  json["filled_weights"] = report.filled;
  json["adapter"] = cli::to_json(report.adapter);
  json["versions"] = {{"sconce", SCONCE_VERSION}, {"driver", report.adapter.driver}};
  return json;
}

}  // namespace sconce::cli
