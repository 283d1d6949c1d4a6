// Reads around views, so that fewer nodes are planned:
//
//   x -> clone -> f         x -> f
//   x -> view -> view -> f  x -> view -> f
//
// A clone (or a conversion to the same element type) changes nothing, so that its readers read x. The shape of a view
// follows from its sizes and the number of elements alone, so that it may read what lies behind other views. What
// nothing reads any more is left to remove_dead_nodes.
#include <set>

#include "passes/passes.h"
#include "passes/pattern.h"

namespace sconce::passes {
namespace {

const std::set<std::string_view> kSameShape = {"aten._to_copy.default", "aten.alias_copy.default", "aten.clone.default",
                                               "dim_order_ops._clone_dim_order.default",
                                               "dim_order_ops._to_dim_order_copy.default"};

// What to read in place of each value: its source where only clones lie between.
std::vector<ValueId> find_replacements(const graph::Graph& graph, const Index& index) {
  std::vector<ValueId> instead(graph.values.size());
  for (ValueId v = 0; v < instead.size(); ++v) instead[v] = v;
  for (NodeId n = 0; n < graph.nodes.size(); ++n) {
    const graph::Node& node = graph.nodes[n];
    if (!index.is_view(n) || !kSameShape.contains(node.op)) continue;
    const ValueId from = node.args.front(), to = node.args.back();
    // A clone with a tighter bound would be checked against it.
    if (graph.tensor(from)->bound == graph.tensor(to)->bound) instead[to] = instead[from];
  }
  return instead;
}

}  // namespace

void fold_views(graph::Graph& graph) {
  const Index index(graph);
  const std::vector<ValueId> instead = find_replacements(graph, index);
  // Lists of outputs stay as they are: no clone makes one of several outputs.
  for (graph::Value& value : graph.values)
    if (auto* list = std::get_if<graph::ValueList>(&value))
      for (ValueId& item : list->items)
        if (item != kNone) item = instead[item];
  for (NodeId n = 0; n < graph.nodes.size(); ++n) {
    graph::Node& node = graph.nodes[n];
    for (size_t i = 0; i + 1 < node.args.size(); ++i) node.args[i] = instead[node.args[i]];
    if (index.is_view(n) && node.op == "aten.view_copy.default") node.args.front() = index.source(node.args.front());
  }
}

}  // namespace sconce::passes
