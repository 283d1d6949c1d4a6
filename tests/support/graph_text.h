// A graph as text, for tests that compare structure: a line for each node.
#pragma once

#include <fmt/format.h>

#include <string>

#include "base/math.h"
#include "graph/graph.h"

namespace sconce::test {

inline std::string text(const graph::Graph& g, graph::ValueId id);

// %3 is a tensor made in a run, #3 a constant, @3 state, $3 a SymInt; literals stand as they are.
struct ValueText {
  const graph::Graph& g;
  graph::ValueId id;
  std::string operator()(const graph::TensorValue& t) const {
    return fmt::format("{}{}", t.is_state ? '@' : t.constant ? '#' : '%', id);
  }
  std::string operator()(const graph::Null&) const { return "null"; }
  std::string operator()(const graph::SymInt&) const { return fmt::format("${}", id); }
  std::string operator()(int64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const { return fmt::format("{}", v); }
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(const std::string& v) const { return '"' + v + '"'; }
  std::string operator()(const graph::IntList& v) const { return fmt::format("[{}]", fmt::join(v.items, ", ")); }
  std::string operator()(const graph::RealList& v) const { return fmt::format("[{}]", fmt::join(v.items, ", ")); }
  std::string operator()(const graph::BoolList& v) const { return fmt::format("[{} bools]", v.items.size()); }
  std::string operator()(const graph::ValueList& v) const {
    std::vector<std::string> items;
    for (graph::ValueId item : v.items) items.push_back(text(g, item));
    return fmt::format("({})", fmt::join(items, ", "));
  }
};

inline std::string text(const graph::Graph& g, graph::ValueId id) {
  if (id == graph::kNone) return "none";
  return std::visit(ValueText{g, id}, g.values[id]);
}

// "aten.add.Tensor(%0, %3, 1) -> %4".
inline std::string text(const graph::Graph& g, const graph::Node& node) {
  std::vector<std::string> args;
  for (size_t i = 0; i + 1 < node.args.size(); ++i) args.push_back(text(g, node.args[i]));
  return fmt::format("{}({}) -> {}", node.op, fmt::join(args, ", "), text(g, node.args.back()));
}

}  // namespace sconce::test
