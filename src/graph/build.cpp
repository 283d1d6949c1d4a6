#include "graph/build.h"

#include <algorithm>

#include "base/error.h"
#include "graph/check.h"
#include "graph/inline_blob.h"
#include "graph/kernel_calls.h"
#include "graph/method_values.h"

namespace sconce::graph {
namespace {

using program::Method;

// Walks the instructions of one method.
class Builder {
 public:
  Builder(const Method& method, Graph& graph)
      : method_(method), writer_(graph), values_(method, writer_), constants_(method.delegates.size()) {}

  Result<void> build() {
    SCONCE_DO(values_.add_inputs());
    for (size_t i = 0; i < method_.instructions.size(); ++i) {
      auto added = std::visit([&](const auto& instruction) { return add(instruction, i); }, method_.instructions[i]);
      if (!added) return std::unexpected(std::move(added).error().within(fmt::format("instruction {}", i)));
    }
    SCONCE_DO(add_outputs());
    return mark_state();
  }

 private:
  Result<void> add(const program::KernelCall& call, size_t index);
  Result<void> add(const program::DelegateCall& call, size_t index);
  Result<void> add(const program::MoveCall& move, size_t) {
    SCONCE_TRY(ValueId value, values_.read(move.from));
    values_.bind(move.to, value);
    return {};
  }
  Result<void> add(const program::JumpIfFalse&, size_t) {
    return fail(ErrorCode::unsupported,
                "The method branches on a value (torch.cond, map or while_loop); Sconce runs straight-line methods.");
  }
  // Buffers are planned from the graph, so there is nothing to free.
  Result<void> add(const program::FreeCall&, size_t) { return {}; }

  Result<void> add_outputs();
  Result<void> mark_state();

  const Method& method_;
  GraphWriter writer_;
  MethodValues values_;
  std::vector<std::vector<ValueId>> constants_;  // of each delegate that was called
};

Result<void> Builder::add(const program::KernelCall& kernel, size_t index) {
  if (kernel.args.empty()) return fail(ErrorCode::corrupt_file, "The kernel call {} has no arguments.", kernel.name);
  OperatorCall call = to_operator_call(kernel, method_);
  Node node{call.op, {}, fmt::format("k{}", index)};
  for (const KernelArg& arg : call.args) {
    if (!arg) {
      node.args.push_back(writer_.add(Null{}));
      continue;
    }
    SCONCE_TRY(ValueId value, values_.read(*arg));
    node.args.push_back(value);
  }
  SCONCE_TRY(ValueId output, values_.write(call.output));
  node.args.push_back(output);
  return writer_.add_node(std::move(node));
}

Result<void> Builder::add(const program::DelegateCall& call, size_t) {
  const program::Delegate& delegate = method_.delegates[call.delegate];
  if (!delegate.blob)
    return fail(ErrorCode::unsupported,
                "Delegate {} was made for the backend '{}'; export with the WebGPU or the Vulkan partitioner.",
                call.delegate, delegate.backend);
  auto& constants = constants_[call.delegate];
  constants.resize(delegate.blob->values.size(), kNone);
  std::string prefix = method_.delegates.size() == 1 ? "" : fmt::format("{}.", call.delegate);
  return inline_blob(call, prefix, values_, writer_, constants);
}

Dtype host_dtype(const program::EValue& value) {
  if (const auto* spec = std::get_if<program::TensorSpec>(&value)) return spec->dtype;
  if (std::holds_alternative<double>(value)) return Dtype::f64;
  if (std::holds_alternative<bool>(value)) return Dtype::boolean;
  return Dtype::i64;
}

Result<void> Builder::add_outputs() {
  Graph& graph = writer_.graph();
  for (program::EValueId id : method_.outputs) {
    SCONCE_TRY(ValueId value, values_.read(id));
    graph.outputs.push_back(value);
    graph.output_dtypes.push_back(host_dtype(method_.values[id]));
  }
  return {};
}

// A constant that some node writes is state. Every value is a state of its own, even if the file keeps their first
// contents once; one value in two nodes is one state, but a node cannot write it twice.
Result<void> Builder::mark_state() {
  Graph& graph = writer_.graph();
  for (const Node& node : graph.nodes) {
    auto written = std::ranges::find(written_args(), std::string_view(node.op), &WrittenArgs::op);
    if (written == written_args().end()) continue;
    ValueId first = kNone;
    for (size_t arg : written->args) {
      ValueId id = arg < node.args.size() ? node.args[arg] : kNone;
      auto* tensor = id < graph.values.size() ? std::get_if<TensorValue>(&graph.values[id]) : nullptr;
      if (!tensor || !(tensor->constant || tensor->is_state)) continue;
      if (id == first)
        return fail(ErrorCode::corrupt_file, "Node {} ({}) writes value {} through two arguments.", node.name, node.op,
                    id);
      tensor->is_state = true;
      first = id;
    }
  }
  return {};
}

}  // namespace

Result<Graph> build_graph(const program::Program& program, std::string_view name) {
  auto method = std::ranges::find(program.methods, name, &Method::name);
  if (method == program.methods.end()) {
    std::vector<std::string_view> names;
    for (const Method& m : program.methods) names.push_back(m.name);
    return fail(ErrorCode::not_found, "The program has no method '{}'; it has: {}.", name, fmt::join(names, ", "));
  }
  Graph graph{.method = method->name};
  auto built = Builder(*method, graph).build();
  if (built) built = check(graph);
  if (!built) return std::unexpected(std::move(built).error().within("method " + method->name));
  return graph;
}

}  // namespace sconce::graph
