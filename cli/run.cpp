// sconce run: one method, one run, at any live shape.
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "cli/checks.h"
#include "cli/command.h"
#include "cli/elements.h"
#include "cli/load.h"
#include "cli/profile.h"
#include "cli/run_inputs.h"
#include "cli/text.h"
#include "io/tensor_files.h"

namespace sconce::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string model, method = "forward";
  InputOptions inputs;
  std::vector<std::string> outputs;
  bool json = false, profile = false;
};

struct Summary {
  double least = 0, greatest = 0, mean = 0;
  size_t not_finite = 0;
};

Summary summarize(const Tensor& tensor) {
  Summary summary;
  size_t finite = 0;
  double sum = 0;
  for (size_t i = 0; i < tensor.shape.numel(); ++i) {
    const double value = element(tensor, i);
    if (!std::isfinite(value)) continue;
    summary.least = finite ? std::min(summary.least, value) : value;
    summary.greatest = finite ? std::max(summary.greatest, value) : value;
    sum += value;
    ++finite;
  }
  summary.mean = finite ? sum / static_cast<double>(finite) : 0;
  summary.not_finite = tensor.shape.numel() - finite;
  return summary;
}

std::vector<double> first_elements(const Tensor& tensor) {
  std::vector<double> values(std::min<size_t>(tensor.shape.numel(), 8));
  for (size_t i = 0; i < values.size(); ++i) values[i] = element(tensor, i);
  return values;
}

void print(size_t index, const Tensor& tensor) {
  fmt::print("output {}: {} {}\n", index, name_of(tensor.dtype), tensor.shape.to_string());
  if (tensor.shape.numel() == 0) return;
  const Summary summary = summarize(tensor);
  if (summary.not_finite == tensor.shape.numel())
    fmt::print("    no element is finite");
  else
    fmt::print("    from {:.6g} to {:.6g}, mean {:.6g}", summary.least, summary.greatest, summary.mean);
  if (summary.not_finite && summary.not_finite < tensor.shape.numel())
    fmt::print(", {} not finite", summary.not_finite);
  const bool more = tensor.shape.numel() > 8;
  fmt::print("\n    {:.6g}{}\n", fmt::join(first_elements(tensor), " "), more ? " ..." : "");
}

Json to_json(const Tensor& tensor) {
  const Summary summary = summarize(tensor);
  return {{"dtype", name_of(tensor.dtype)}, {"shape", cli::to_json(tensor.shape)},
          {"least", summary.least},         {"greatest", summary.greatest},
          {"mean", summary.mean},           {"not_finite", summary.not_finite},
          {"first", first_elements(tensor)}};
}

// One .safetensors file for all outputs, or a .npy file for each.
Result<void> write_outputs(const std::vector<std::string>& paths, const std::vector<Tensor>& outputs) {
  if (paths.size() == 1 && paths[0].ends_with(".safetensors")) {
    io::NamedTensors named;
    for (size_t i = 0; i < outputs.size(); ++i) named.emplace(fmt::format("out{}", i), outputs[i]);
    return io::write_tensors(paths[0], named);
  }
  SCONCE_CHECK(paths.size() <= outputs.size(), "--output is given {} times, but the method has {} outputs.",
               paths.size(), outputs.size());
  for (size_t i = 0; i < paths.size(); ++i) SCONCE_DO(io::write_tensors(paths[i], {{"", outputs[i]}}));
  return {};
}

void report(const Options& options, const std::vector<Tensor>& outputs, double seconds,
            const RunStatistics& statistics) {
  if (options.json) {
    Json json = {{"outputs", Json::array()},
                 {"run_s", seconds},
                 {"replan_us", statistics.replan_us},
                 {"dispatches", statistics.dispatches}};
    for (const Tensor& tensor : outputs) json["outputs"].push_back(to_json(tensor));
    print_json(json);
    return;
  }
  for (size_t i = 0; i < outputs.size(); ++i) print(i, outputs[i]);
  fmt::print("run: {:.2f} ms, of it planning {:.0f} us, {} dispatches\n", seconds * 1e3, statistics.replan_us,
             statistics.dispatches);
}

Result<ExitCode> run(const Options& options, const GlobalOptions& globals) {
  SCONCE_TRY(Device device, open_device(globals));
  SCONCE_TRY(Model model, load_model(device, options.model, globals));
  SessionOptions session_options;
  session_options.profile = options.profile;
  SCONCE_TRY(Session session, Session::create(model, options.method, session_options));
  SCONCE_TRY(std::vector<Tensor> inputs, gather_inputs(*model.method(options.method), options.inputs));
  const std::vector<TensorView> views(inputs.begin(), inputs.end());

  const auto start = std::chrono::steady_clock::now();
  SCONCE_TRY(std::vector<Tensor> outputs, session.run(views));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  SCONCE_DO(write_outputs(options.outputs, outputs));
  report(options, outputs, elapsed.count(), session.statistics());
  if (options.profile) print_profile(stderr, session.take_profile());
  return kOk;
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto [command, options] = add_command<Options>(app, action, "run", "Run a method once, at any live shape", run);
  command->add_option("model", options->model, "A .pte file or a model directory")->required()->type_name("MODEL");
  command->add_option("inputs", options->inputs.files, "Files with inputs, in order: .npy or .safetensors")
      ->type_name("FILE");
  command->add_option("--method", options->method, "The method to run")->capture_default_str();
  command->add_flag("--random", options->inputs.random, "Fill inputs that come from no file with random numbers");
  command->add_option("--shape", options->inputs.shapes, "The live shape of an input that comes from no file")
      ->type_name("INPUT=DIM,DIM")
      ->take_all()
      ->expected(1);
  command->add_option("--value", options->inputs.values, "One number for every element of an input")
      ->type_name("INPUT=NUMBER")
      ->take_all()
      ->expected(1);
  command->add_option("--seed", options->inputs.seed, "Seed of the random numbers")
      ->check(whole_number())
      ->capture_default_str();
  command->add_option("--high", options->inputs.high, "Random integers are smaller than this")
      ->check(whole_number(1))
      ->capture_default_str();
  command
      ->add_option("--output", options->outputs, "Write outputs: a .safetensors file for all or a .npy file for each")
      ->type_name("FILE")
      ->take_all()
      ->expected(1);
  command->add_flag("--profile", options->profile, "Time each kernel on the GPU and print a table on stderr");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(R"(A live shape may have any dims up to the upper bounds that `sconce inspect` shows; an input without
--shape has its upper bound. In a .safetensors file, inputs are named 0, 1, ... or in0, in1, ...; outputs
are written as out0, out1, ... Outputs are summarized on stdout either way.

Examples:
  sconce run model.pte x.npy y.npy --output z.npy
  sconce run model.pte inputs.safetensors --output outputs.safetensors
  sconce run model.pte --random --shape 0=1,17 --value 1=0 --high 1000 --seed 3)");
}

}  // namespace sconce::cli
