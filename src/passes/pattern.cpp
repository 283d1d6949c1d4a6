#include "passes/pattern.h"

#include <algorithm>
#include <utility>

#include "ops/contract.h"

namespace sconce::passes {
namespace {

using graph::Graph;
using graph::Node;

// Visits the values that a node reads, those in lists included.
template <typename Visit>
void for_each_input(const Graph& graph, const Node& node, Visit visit) {
  for (size_t i = 0; i + 1 < node.args.size(); ++i) {
    if (const auto* list = std::get_if<graph::ValueList>(&graph.values[node.args[i]])) {
      for (ValueId item : list->items)
        if (item != kNone) visit(item);
    } else {
      visit(node.args[i]);
    }
  }
}

std::vector<uint8_t> find_written(const Graph& graph) {
  std::vector<uint8_t> written(graph.values.size(), 0);
  for (ValueId v = 0; v < graph.values.size(); ++v)
    if (const graph::TensorValue* tensor = graph.tensor(v)) written[v] = tensor->is_state;
  for (const Node& node : graph.nodes) {
    const ops::OperatorInfo* op = ops::find_operator(node.op);
    if (op == nullptr) continue;
    for (int8_t arg : op->effects.writes)
      if (arg >= 0 && static_cast<size_t>(arg) + 1 < node.args.size()) written[node.args[static_cast<size_t>(arg)]] = 1;
  }
  return written;
}

}  // namespace

Index::Index(const Graph& graph)
    : graph_(graph),
      is_view_(graph.nodes.size(), 0),
      is_output_(graph.values.size(), 0),
      is_written_(find_written(graph)),
      source_(graph.values.size()),
      producer_(graph.values.size(), kNone),
      readers_(graph.values.size()) {
  for (ValueId v = 0; v < source_.size(); ++v) source_[v] = v;
  for (NodeId n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    for (ValueId output : graph::outputs_of(graph, node))
      if (output != kNone) producer_[output] = n;
    const ops::OperatorInfo* op = ops::find_operator(node.op);
    if (op != nullptr && op->effects.alias_of == 0 && node.args.size() >= 2) {
      const ValueId from = node.args.front(), to = node.args.back();
      const graph::TensorValue *input = graph.tensor(from), *output = graph.tensor(to);
      is_view_[n] = input != nullptr && output != nullptr && input->dtype == output->dtype &&
                    !is_written_[source_[from]] && !is_written_[to];
      if (is_view_[n]) source_[to] = source_[from];
    }
    if (is_view_[n]) continue;
    for_each_input(graph, node, [&](ValueId v) {
      std::vector<NodeId>& readers = readers_[source_[v]];
      if (readers.empty() || readers.back() != n) readers.push_back(n);
    });
  }
  for (ValueId output : graph.outputs) is_output_[source_[output]] = 1;
}

NodeId Index::only_reader(ValueId value) const {
  const std::vector<NodeId>& all = readers(value);
  return all.size() == 1 && !is_output(value) ? all.front() : kNone;
}

bool Index::is_constant(ValueId value) const {
  const graph::TensorValue* tensor = graph_.tensor(value);
  return tensor != nullptr && tensor->constant && !is_written_[value];
}

bool Rewrite::untouched(std::initializer_list<NodeId> nodes) const {
  return std::ranges::none_of(nodes, [&](NodeId n) { return touched_[n] != 0; });
}

void Rewrite::replace(NodeId at, std::string op, std::vector<ValueId> args) {
  touched_[at] = 1;
  graph_.nodes[at].op = std::move(op);
  graph_.nodes[at].args = std::move(args);
}

void Rewrite::remove(NodeId node) {
  touched_[node] = 2;
}

void Rewrite::finish() {
  size_t n = 0;
  std::erase_if(graph_.nodes, [&](const Node&) { return touched_[n++] == 2; });
  touched_.assign(graph_.nodes.size(), 0);
}

ValueId argument(const Graph& graph, const Node& node, size_t i) {
  if (i + 1 >= node.args.size() || std::holds_alternative<graph::Null>(graph.values[node.args[i]])) return kNone;
  return node.args[i];
}

bool equal(const Graph& graph, ValueId a, ValueId b) {
  if (a == b) return true;
  if (a == kNone || b == kNone) return false;
  const graph::Value &x = graph.values[a], &y = graph.values[b];
  if (x.index() != y.index()) return false;
  if (const auto* number = std::get_if<int64_t>(&x)) return *number == std::get<int64_t>(y);
  if (const auto* number = std::get_if<double>(&x)) return *number == std::get<double>(y);
  if (const auto* flag = std::get_if<bool>(&x)) return *flag == std::get<bool>(y);
  if (const auto* text = std::get_if<std::string>(&x)) return *text == std::get<std::string>(y);
  if (const auto* ints = std::get_if<graph::IntList>(&x)) return ints->items == std::get<graph::IntList>(y).items;
  if (const auto* list = std::get_if<graph::ValueList>(&x))
    return std::ranges::equal(list->items, std::get<graph::ValueList>(y).items,
                              [&](ValueId i, ValueId j) { return equal(graph, i, j); });
  return std::holds_alternative<graph::Null>(x);
}

}  // namespace sconce::passes
