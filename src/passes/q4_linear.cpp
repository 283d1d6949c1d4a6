#include "passes/q4_linear.h"

#include <algorithm>

namespace sconce::passes {
namespace {

using graph::Graph;
using graph::Node;

constexpr std::string_view kFused = "sconce.q4_linear";

std::vector<ValueId> items_of(const Graph& graph, ValueId value) {
  if (value == kNone) return {};
  if (const auto* list = std::get_if<graph::ValueList>(&graph.values[value])) return list->items;
  return {value};
}

Q4Linear take_apart(const Graph& graph, const Node& node) {
  Q4Linear linear{.x = node.args[0],
                  .norm_weight = argument(graph, node, 1),
                  .norm_eps = argument(graph, node, 2),
                  .weights = items_of(graph, argument(graph, node, 3)),
                  .scales = items_of(graph, argument(graph, node, 4)),
                  .biases = items_of(graph, argument(graph, node, 6)),
                  .group_size = argument(graph, node, 5),
                  .residual = argument(graph, node, 8),
                  .sizes = argument(graph, node, 9),
                  .outputs = graph::outputs_of(graph, node)};
  linear.swiglu = std::get<std::string>(graph.values[node.args[7]]) == "swiglu";
  return linear;
}

}  // namespace

std::optional<Q4Linear> read_q4_linear(const Graph& graph, const Index& index, NodeId n) {
  if (n == kNone) return std::nullopt;
  const Node& node = graph.nodes[n];
  if (node.op == kFused) return take_apart(graph, node);
  const bool by_group = node.op == "et_vk.linear_q4gsw.default";
  if ((!by_group && node.op != "et_vk.linear_qcs4w.default") || node.args.size() < (by_group ? 6 : 4))
    return std::nullopt;
  Q4Linear linear{.x = node.args[0],
                  .weights = {node.args[1]},
                  .scales = {node.args[2]},
                  .group_size = by_group ? argument(graph, node, 3) : kNone,
                  .outputs = {node.args.back()}};
  if (by_group) linear.biases = items_of(graph, argument(graph, node, 4));
  auto constant = [&](ValueId v) { return index.is_constant(v); };
  const bool known = constant(linear.weights[0]) && constant(linear.scales[0]) &&
                     std::ranges::all_of(linear.biases, constant) && (linear.group_size != kNone || !by_group);
  // What is written in place must be read at its own moment.
  if (!known || graph.tensor(linear.x) == nullptr || index.is_written(linear.x)) return std::nullopt;
  return linear;
}

void write_q4_linear(Graph& graph, Rewrite& rewrite, NodeId at, const Q4Linear& linear) {
  auto value_or_null = [&](ValueId value) { return value == kNone ? graph.add(graph::Null{}) : value; };
  auto list = [&](const std::vector<ValueId>& items) { return graph.add(graph::ValueList{items}); };
  rewrite.replace(at, std::string(kFused),
                  {linear.x, value_or_null(linear.norm_weight), value_or_null(linear.norm_eps), list(linear.weights),
                   list(linear.scales), value_or_null(linear.group_size),
                   linear.biases.empty() ? graph.add(graph::Null{}) : list(linear.biases),
                   graph.add(std::string(linear.swiglu ? "swiglu" : "none")), value_or_null(linear.residual),
                   value_or_null(linear.sizes), linear.outputs.size() == 1 ? linear.outputs[0] : list(linear.outputs)});
}

bool can_join(const Graph& graph, const Q4Linear& a, const Q4Linear& b) {
  if (a.x != b.x || !equal(graph, a.group_size, b.group_size) || a.biases.empty() != b.biases.empty()) return false;
  const Shape &weight_a = graph.tensor(a.weights[0])->bound, &weight_b = graph.tensor(b.weights[0])->bound;
  const Shape &scales_a = graph.tensor(a.scales[0])->bound, &scales_b = graph.tensor(b.scales[0])->bound;
  // Concatenated rows are of one length, with as many scales each, and nothing lies between those of two weights.
  auto padded = [&](const Q4Linear& linear, size_t i) {
    const int64_t rows = graph.tensor(linear.weights[i])->bound[0];
    return graph.tensor(linear.scales[i])->bound.back() != rows ||
           (!linear.biases.empty() && graph.tensor(linear.biases[i])->bound.numel() != static_cast<uint64_t>(rows));
  };
  if (weight_a.rank() != 2 || weight_b.rank() != 2 || weight_a[1] != weight_b[1]) return false;
  if (scales_a.empty() || scales_a.rank() != scales_b.rank()) return false;
  if (scales_a.rank() == 2 && scales_a[0] != scales_b[0]) return false;
  for (size_t i = 0; i < a.weights.size(); ++i)
    if (padded(a, i)) return false;
  return !padded(b, 0);
}

std::optional<Reshaped> find_reshaped(const Graph& graph, const Index& index, ValueId value) {
  NodeId producer = index.direct_producer(value);
  ValueId sizes = kNone;
  if (producer != kNone && index.is_view(producer)) {
    const Node& view = graph.nodes[producer];
    if (view.op != "aten.view_copy.default") return std::nullopt;
    sizes = view.args[1];
    producer = index.direct_producer(view.args[0]);
  }
  const std::optional<Q4Linear> linear = read_q4_linear(graph, index, producer);
  if (!linear || !linear->is_plain() || linear->sizes != kNone) return std::nullopt;
  return Reshaped{producer, sizes};
}

}  // namespace sconce::passes
