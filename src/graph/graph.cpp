#include "graph/graph.h"

namespace sconce::graph {

const char* kind_of(const Value& value) {
  static constexpr const char* kNames[] = {"Null",     "Int",      "Double",    "Bool",   "string", "IntList",
                                           "RealList", "BoolList", "ValueList", "SymInt", "tensor"};
  static_assert(std::size(kNames) == std::variant_size_v<Value>);
  return kNames[value.index()];
}

std::vector<ValueId> outputs_of(const Graph& graph, const Node& node) {
  if (node.args.empty()) return {};
  ValueId last = node.args.back();
  if (last >= graph.values.size()) return {};
  if (const auto* list = std::get_if<ValueList>(&graph.values[last])) return list->items;
  return {last};
}

}  // namespace sconce::graph
