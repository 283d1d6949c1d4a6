// The gated half of a feed-forward layer as one node:
//
//   x -> q4_linear -> (view) -+-> sigmoid -> mul -> mul -> y        x -> q4_linear(swiglu) -> y
//    |                        +--------------^     ^
//    +-> q4_linear -> (view) ----------------------+
//
// or with silu in place of sigmoid and the first mul. Nothing else reads what lies between, and both views, if any,
// have the same sizes, so that all products are of equal shape.
#include "passes/passes.h"
#include "passes/q4_linear.h"

namespace sconce::passes {
namespace {

using graph::Graph;
using graph::Node;

bool is(const Graph& graph, NodeId node, std::string_view op) {
  return node != kNone && graph.nodes[node].op == op;
}

// The value g of silu(g), where `value` is that, read by node `reader` alone; kNone when it is something else.
ValueId find_silu_argument(const Graph& graph, const Index& index, ValueId value, NodeId reader) {
  const NodeId n = index.direct_producer(value);
  if (n == kNone || index.only_reader(value) != reader) return kNone;
  const Node& node = graph.nodes[n];
  if (node.op == "aten.silu.default") {
    return index.only_reader(node.args[0]) == n ? node.args[0] : kNone;
  }
  if (node.op != "aten.mul.Tensor") return kNone;
  for (size_t i : {0u, 1u}) {
    const ValueId gate = node.args[i];
    const NodeId sigmoid = index.direct_producer(node.args[1 - i]);
    if (!is(graph, sigmoid, "aten.sigmoid.default") || index.only_reader(node.args[1 - i]) != n) continue;
    const bool two_readers = index.readers(gate).size() == 2 && !index.is_output(gate);
    if (two_readers && graph.nodes[sigmoid].args[0] == gate) return gate;
  }
  return kNone;
}

// The fused node that may stand in place of the product n, if it is silu(gate) * up.
std::optional<Q4Linear> match(const Graph& graph, const Index& index, NodeId n, ValueId gated, ValueId up) {
  const ValueId gate = find_silu_argument(graph, index, gated, n);
  if (gate == kNone || index.only_reader(up) != n) return std::nullopt;
  const auto first = find_reshaped(graph, index, gate), second = find_reshaped(graph, index, up);
  if (!first || !second || first->linear == second->linear) return std::nullopt;
  if ((first->sizes == kNone) != (second->sizes == kNone) || !equal(graph, first->sizes, second->sizes))
    return std::nullopt;
  std::optional<Q4Linear> linear = read_q4_linear(graph, index, first->linear);
  const std::optional<Q4Linear> other = read_q4_linear(graph, index, second->linear);
  if (!can_join(graph, *linear, *other)) return std::nullopt;
  if (graph.tensor(linear->weights[0])->bound != graph.tensor(other->weights[0])->bound) return std::nullopt;
  linear->weights.push_back(other->weights[0]);
  linear->scales.push_back(other->scales[0]);
  if (!linear->biases.empty()) linear->biases.push_back(other->biases[0]);
  linear->swiglu = true;
  linear->sizes = first->sizes;
  linear->outputs = {graph.nodes[n].args.back()};
  return linear;
}

}  // namespace

void fuse_swiglu(Graph& graph) {
  const Index index(graph);
  Rewrite rewrite(graph);
  for (NodeId n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.op != "aten.mul.Tensor" || node.args.size() != 3 || !graph.tensor(node.args[0]) ||
        !graph.tensor(node.args[1]))
      continue;
    std::optional<Q4Linear> fused = match(graph, index, n, node.args[0], node.args[1]);
    if (!fused) fused = match(graph, index, n, node.args[1], node.args[0]);
    if (fused) write_q4_linear(graph, rewrite, n, *fused);
  }
  rewrite.finish();
}

}  // namespace sconce::passes
