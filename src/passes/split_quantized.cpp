// Linears with 8-bit activations become a rounding of their input and a linear with 4-bit weights, so that the passes
// after this one find linears as ever:
//
//   x -> choose_qparams -> scale, zero point            x -> choose_qparams -> scale, zero point
//   x, scale, zero point -> linear_dq8ca_q4gsw -> y     x, scale, zero point -> round_rows -> h -> linear_q4gsw -> y
//
// Linears of one input share its rounding, as their products do not depend on who rounds: (q - z) * s is one f32.
#include <algorithm>
#include <map>

#include "passes/passes.h"
#include "passes/pattern.h"

namespace sconce::passes {
namespace {

constexpr std::string_view kChoose = "torchao.choose_qparams_affine.default";
constexpr std::string_view kQuantized = "et_vk.linear_dq8ca_q4gsw.default";
constexpr size_t kQuantizedArguments = 9;  // with the output

bool equal_arguments(const graph::Graph& graph, const graph::Node& a, const graph::Node& b) {
  if (a.args.size() != b.args.size() || a.args[0] != b.args[0]) return false;
  for (size_t i = 1; i + 1 < a.args.size(); ++i)
    if (!equal(graph, a.args[i], b.args[i])) return false;
  return true;
}

// Scales and zero points of equal nodes: those of the first.
std::map<ValueId, ValueId> find_equal_choices(const graph::Graph& graph, const Index& index) {
  std::map<ValueId, ValueId> instead;
  std::map<ValueId, std::vector<NodeId>> of_input;
  for (NodeId n = 0; n < graph.nodes.size(); ++n) {
    const graph::Node& node = graph.nodes[n];
    if (node.op != kChoose || index.is_written(node.args[0])) continue;
    std::vector<NodeId>& earlier = of_input[node.args[0]];
    const auto same =
        std::ranges::find_if(earlier, [&](NodeId other) { return equal_arguments(graph, graph.nodes[other], node); });
    if (same == earlier.end()) {
      earlier.push_back(n);
      continue;
    }
    const auto outputs = graph::outputs_of(graph, node), first = graph::outputs_of(graph, graph.nodes[*same]);
    for (size_t i = 0; i < outputs.size() && i < first.size(); ++i) instead[outputs[i]] = first[i];
  }
  return instead;
}

}  // namespace

void split_quantized(graph::Graph& graph) {
  const Index index(graph);
  const std::map<ValueId, ValueId> instead = find_equal_choices(graph, index);
  std::map<std::vector<ValueId>, ValueId> roundings;  // by input, scale and zero point
  std::vector<graph::Node> nodes;
  for (graph::Node& node : graph.nodes) {
    const bool splits = node.op == kQuantized && node.args.size() == kQuantizedArguments &&
                        graph.tensor(node.args[0]) != nullptr && !index.is_written(node.args[0]);
    if (!splits) {
      nodes.push_back(std::move(node));
      continue;
    }
    std::vector<ValueId> rows(node.args.begin(), node.args.begin() + 3);
    for (ValueId& value : rows)
      if (auto found = instead.find(value); found != instead.end()) value = found->second;
    auto [rounding, is_new] = roundings.try_emplace(rows, kNone);
    if (is_new) {
      rounding->second = graph.add(graph::TensorValue{Dtype::f32, graph.tensor(rows[0])->bound, std::nullopt, false});
      nodes.push_back({"sconce.round_rows", {rows[0], rows[1], rows[2], rounding->second}, node.name});
    }
    const std::vector<ValueId>& a = node.args;  // of which argument 4, the sums of the weights, is not needed
    nodes.push_back({"et_vk.linear_q4gsw.default", {rounding->second, a[3], a[5], a[6], a[7], a[8]}, node.name});
  }
  graph.nodes = std::move(nodes);
}

}  // namespace sconce::passes
