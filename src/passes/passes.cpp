#include "passes/passes.h"

#include <algorithm>

#include "ops/contract.h"

namespace sconce::passes {

void remove_dead_nodes(graph::Graph& graph) {
  std::vector<uint8_t> needed(graph.values.size(), 0);
  auto need = [&](graph::ValueId id) {
    needed[id] = 1;
    if (const auto* list = std::get_if<graph::ValueList>(&graph.values[id]))
      for (graph::ValueId item : list->items)
        if (item != graph::kNone) needed[item] = 1;
  };
  for (graph::ValueId output : graph.outputs) need(output);
  // Backwards, a node's readers are all decided before the node itself.
  std::vector<uint8_t> keep(graph.nodes.size(), 0);
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const graph::Node& node = graph.nodes[n];
    const ops::OperatorInfo* op = ops::find_operator(node.op);
    keep[n] = op == nullptr || op->effects.writes[0] >= 0;  // an unknown operator is reported, not removed
    for (graph::ValueId output : graph::outputs_of(graph, node)) keep[n] |= output != graph::kNone && needed[output];
    if (!keep[n]) continue;
    for (size_t i = 0; i + 1 < node.args.size(); ++i) need(node.args[i]);
  }
  size_t n = 0;
  std::erase_if(graph.nodes, [&](const graph::Node&) { return !keep[n++]; });
}

namespace {

void fuse(graph::Graph& graph) {
  for (auto pass : {fold_views, split_quantized, fuse_swiglu, fuse_residual, join_linears, fuse_norm, fuse_rotary}) {
    pass(graph);
    remove_dead_nodes(graph);  // what a pass left behind must not look like a reader to the next
  }
}

}  // namespace

void rewrite(graph::Graph& graph, const Options& options) {
  remove_dead_nodes(graph);
  if (options.fuse) fuse(graph);
  if (options.half_caches) halve_caches(graph);
}

}  // namespace sconce::passes
