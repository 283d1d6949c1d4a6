// sconce inspect: what a program takes and gives, which operators it is made of, and what it needs. No GPU is used
// unless a device is named, because plans depend on a device's capabilities only.
#include "base/error.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/text.h"
#include "graph/build.h"
#include "ops/contract.h"
#include "passes/passes.h"
#include "planner/layout.h"
#include "runtime/model.h"
#include "webgpu/gpu.h"
#include "webgpu/mapped_file.h"

namespace sconce::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string model;
  bool json = false;
};

struct OperatorUse {
  size_t count = 0;
  const char* where = "";
};

struct MethodReport {
  std::string name;
  std::vector<ValueInfo> inputs, outputs;
  size_t nodes = 0;
  std::map<std::string, OperatorUse> operators;
  // Known only when the method can be planned.
  size_t activation_buffers = 0, states = 0;
  uint64_t activation_bytes = 0, state_bytes = 0;
};

struct ProgramReport {
  uint64_t file_bytes = 0;
  std::vector<MethodReport> methods;
  std::map<std::string, std::vector<int64_t>> metadata;
  std::string problem;  // why the program cannot run; empty when it can
  // Known only when it can.
  uint64_t weight_bytes = 0;
  std::map<std::string, std::pair<size_t, uint64_t>> packings;  // name: buffers and bytes
};

const char* where_it_runs(const std::string& op) {
  const ops::OperatorInfo* info = ops::find_operator(op);
  if (!info) return "unsupported";
  if (info->effects.on_host) return "host";
  return info->effects.alias_of >= 0 ? "nowhere (same bytes)" : "GPU";
}

std::vector<ValueInfo> describe_values(const graph::Graph& graph, const std::vector<graph::ValueId>& values,
                                       const std::vector<Dtype>& dtypes) {
  std::vector<ValueInfo> infos;
  for (size_t i = 0; i < values.size(); ++i) {
    const graph::TensorValue* tensor = graph.tensor(values[i]);
    infos.push_back(tensor ? ValueInfo{dtypes[i], tensor->bound, false} : ValueInfo{Dtype::i64, {}, true});
  }
  return infos;
}

MethodReport report_on(const graph::Graph& graph) {
  MethodReport report;
  report.name = graph.method;
  report.inputs = describe_values(graph, graph.inputs, graph.input_dtypes);
  report.outputs = describe_values(graph, graph.outputs, graph.output_dtypes);
  report.nodes = graph.nodes.size();
  for (const graph::Node& node : graph.nodes) {
    OperatorUse& use = report.operators[node.op];
    use.where = where_it_runs(node.op);
    ++use.count;
  }
  return report;
}

MethodReport report_on(const planner::Method& method) {
  MethodReport report = report_on(method.graph);
  report.activation_buffers = method.layout.slot_bytes.size();
  for (uint64_t bytes : method.layout.slot_bytes) report.activation_bytes += bytes;
  for (graph::ValueId id = 0; id < method.graph.values.size(); ++id) {
    const graph::TensorValue* tensor = method.graph.tensor(id);
    if (!tensor || !tensor->is_state) continue;
    ++report.states;
    report.state_bytes += planner::device_bytes(*tensor);
  }
  return report;
}

// A program that cannot run is still worth looking at: the graphs alone tell which operators it wants.
Result<void> report_without_plans(const program::Program& program, const runtime::ModelOptions& options,
                                  ProgramReport& report) {
  for (const auto& [name, values] : program::metadata(program)) report.metadata[name];
  for (const program::Method& method : program.methods) {
    if (report.metadata.contains(method.name)) continue;
    SCONCE_TRY(graph::Graph graph, graph::build_graph(program, method.name));
    passes::rewrite(graph, {.fuse = options.fuse});
    report.methods.push_back(report_on(graph));
  }
  return {};
}

Result<ProgramReport> report_on(const program::Program& program, const runtime::ModelOptions& options) {
  ProgramReport report;
  auto model = runtime::Model::create(program, options);
  if (!model) {
    report.problem = model.error().to_string();
    SCONCE_DO(report_without_plans(program, options, report));
    return report;
  }
  report.metadata = (*model)->metadata();
  for (const auto& [name, method] : (*model)->methods()) report.methods.push_back(report_on(method));
  report.weight_bytes = (*model)->constant_bytes();
  for (const planner::PackedPart& part : (*model)->constants()) {
    auto& [buffers, bytes] = report.packings[std::string(ops::packing_info(part.packing).name)];
    ++buffers;
    bytes += part.bytes;
  }
  return report;
}

void print_values(const char* kind, const std::vector<ValueInfo>& values) {
  for (size_t i = 0; i < values.size(); ++i) fmt::print("  {} {:<3} {}\n", kind, i, describe(values[i]));
}

void print(const MethodReport& method, bool planned) {
  fmt::print("\nMethod {} ({})\n", method.name, count_of(method.nodes, "node"));
  print_values("input ", method.inputs);
  print_values("output", method.outputs);
  fmt::print("  operators                                 nodes  runs on\n");
  for (const auto& [name, use] : method.operators) fmt::print("    {:<40} {:>4}  {}\n", name, use.count, use.where);
  if (!planned) return;
  fmt::print("  a session has {} of activations in {} and {} of state in {}\n", format_bytes(method.activation_bytes),
             count_of(method.activation_buffers, "buffer"), format_bytes(method.state_bytes),
             count_of(method.states, "buffer"));
}

void print(const ProgramReport& report, const std::string& path) {
  const bool planned = report.problem.empty();
  fmt::print("{}: {}; dims of inputs and outputs are upper bounds\n", path, format_bytes(report.file_bytes));
  for (const MethodReport& method : report.methods) print(method, planned);
  if (planned) {
    fmt::print("\nWeights on the GPU: {}\n", format_bytes(report.weight_bytes));
    for (const auto& [name, part] : report.packings)
      fmt::print("    {:<20} {:>10} in {}\n", name, format_bytes(part.second), count_of(part.first, "buffer"));
  } else {
    fmt::print("\nThis program cannot run: {}\n", report.problem);
  }
  if (!report.metadata.empty()) fmt::print("\nMetadata\n");
  for (const auto& [name, values] : report.metadata) fmt::print("    {:<28} {}\n", name, fmt::join(values, " "));
}

Json to_json(const std::vector<ValueInfo>& values) {
  Json list = Json::array();
  for (const ValueInfo& value : values)
    list.push_back(
        {{"dtype", name_of(value.dtype)}, {"bound", cli::to_json(value.bound)}, {"is_symint", value.is_symint}});
  return list;
}

Json to_json(const MethodReport& method, bool planned) {
  Json operators = Json::object();
  for (const auto& [name, use] : method.operators) operators[name] = {{"nodes", use.count}, {"runs_on", use.where}};
  Json json = {{"name", method.name},
               {"nodes", method.nodes},
               {"inputs", to_json(method.inputs)},
               {"outputs", to_json(method.outputs)},
               {"operators", std::move(operators)}};
  if (planned) {
    json["activations"] = {{"buffers", method.activation_buffers}, {"bytes", method.activation_bytes}};
    json["state"] = {{"buffers", method.states}, {"bytes", method.state_bytes}};
  }
  return json;
}

Json to_json(const ProgramReport& report, const std::string& path) {
  const bool planned = report.problem.empty();
  Json json = {{"path", path}, {"bytes", report.file_bytes}, {"runnable", planned}};
  if (!planned) json["problem"] = report.problem;
  json["methods"] = Json::array();
  for (const MethodReport& method : report.methods) json["methods"].push_back(to_json(method, planned));
  if (planned) {
    json["weights"] = {{"bytes", report.weight_bytes}, {"packings", Json::object()}};
    for (const auto& [name, part] : report.packings)
      json["weights"]["packings"][name] = {{"buffers", part.first}, {"bytes", part.second}};
  }
  json["metadata"] = report.metadata;
  return json;
}

Result<ExitCode> inspect(const Options& options, const GlobalOptions& globals) {
  const std::string path = program_path(options.model).string();
  SCONCE_TRY(webgpu::ProgramFiles files, webgpu::open_program(path, globals.data));
  runtime::ModelOptions model_options;
  model_options.fuse = !globals.no_fuse;
  model_options.half_caches = globals.half_caches;
  model_options.capabilities.f16 = globals.half_caches;  // as of a device that has it, unless one is named
  if (!globals.device.empty()) {
    SCONCE_TRY(Device device, open_device(globals));
    model_options.capabilities = device.gpu()->capabilities();
  }
  SCONCE_TRY(ProgramReport report, report_on(files.program, model_options));
  for (const auto& source : files.sources) report.file_bytes += source->size();
  if (options.json)
    print_json(to_json(report, path));
  else
    print(report, path);
  return kOk;
}

}  // namespace

void add_inspect(CLI::App& app, Action& action) {
  auto [command, options] = add_command<Options>(
      app, action, "inspect", "Show a program's methods, upper bounds, operators, weights and buffers", inspect);
  command->add_option("model", options->model, "A .pte file or a model directory")->required()->type_name("MODEL");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      R"(No GPU is needed. With --device the plans are those for that device, whose limits decide, for example,
how many buffers a large weight takes. A program that cannot run is shown as far as it can be read,
with the reason.

Examples:
  sconce inspect model.pte
  sconce inspect MODEL_DIR --json | jq '.methods[0].operators')");
}

}  // namespace sconce::cli
