// A sum becomes the end of the linear before it, if nothing else reads the product:
//
//   x -> q4_linear -> (view) -> add -> y        x -> q4_linear(residual) -> y
//   residual --------------------^              residual ------^
//
// The fused node stands where the sum stood, so that the residual is there.
#include "passes/passes.h"
#include "passes/q4_linear.h"

namespace sconce::passes {
namespace {

using graph::Graph;

bool is_one(const graph::Value& value) {
  const auto* integer = std::get_if<int64_t>(&value);
  const auto* real = std::get_if<double>(&value);
  return (integer && *integer == 1) || (real && *real == 1.0);
}

bool is_f32(const Graph& graph, ValueId value) {
  const graph::TensorValue* tensor = graph.tensor(value);
  return tensor != nullptr && tensor->dtype == Dtype::f32;
}

std::optional<Q4Linear> match(const Graph& graph, const Index& index, NodeId n, ValueId product, ValueId residual) {
  const std::optional<Reshaped> reshaped = find_reshaped(graph, index, product);
  if (!reshaped || index.only_reader(product) != n || index.source(product) == index.source(residual))
    return std::nullopt;
  if (!is_f32(graph, residual) || index.is_written(residual)) return std::nullopt;
  std::optional<Q4Linear> linear = read_q4_linear(graph, index, reshaped->linear);
  linear->residual = residual;
  linear->sizes = reshaped->sizes;
  linear->outputs = {graph.nodes[n].args.back()};
  return linear;
}

}  // namespace

void fuse_residual(Graph& graph) {
  const Index index(graph);
  Rewrite rewrite(graph);
  for (NodeId n = 0; n < graph.nodes.size(); ++n) {
    const graph::Node& node = graph.nodes[n];
    if (node.op != "aten.add.Tensor" || node.args.size() != 4 || !is_one(graph.values[node.args[2]])) continue;
    if (!is_f32(graph, node.args.back())) continue;
    std::optional<Q4Linear> fused = match(graph, index, n, node.args[1], node.args[0]);
    if (!fused) fused = match(graph, index, n, node.args[0], node.args[1]);
    if (fused) write_q4_linear(graph, rewrite, n, *fused);
  }
  rewrite.finish();
}

}  // namespace sconce::passes
