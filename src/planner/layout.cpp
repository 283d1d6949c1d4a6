#include "planner/layout.h"

#include <algorithm>

#include "base/math.h"

namespace sconce::planner {
namespace {

using graph::Graph;
using graph::kNone;
using graph::Node;

// The values that a node's arguments name, those inside lists included, without its outputs.
template <typename Visit>
void for_each_input(const Graph& graph, const Node& node, Visit visit) {
  for (size_t i = 0; i + 1 < node.args.size(); ++i) {
    const ValueId id = node.args[i];
    if (const auto* list = std::get_if<graph::ValueList>(&graph.values[id])) {
      for (ValueId item : list->items)
        if (item != kNone) visit(item);
    } else {
      visit(id);
    }
  }
}

std::vector<uint8_t> find_written(const Graph& graph, std::span<const ops::OperatorInfo* const> operators) {
  std::vector<uint8_t> written(graph.values.size(), 0);
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    for (int8_t arg : operators[n]->effects.writes)
      if (arg >= 0 && static_cast<size_t>(arg) + 1 < graph.nodes[n].args.size())
        written[graph.nodes[n].args[static_cast<size_t>(arg)]] = 1;
  return written;
}

// The input that output 0 of a node may share its buffer with, or kNone.
ValueId alias_source(const Graph& graph, const Node& node, const ops::OperatorInfo& op) {
  const int8_t arg = op.effects.alias_of;
  if (arg < 0 || static_cast<size_t>(arg) + 1 >= node.args.size()) return kNone;
  const ValueId source = node.args[static_cast<size_t>(arg)];
  const graph::TensorValue* from = graph.tensor(source);
  const graph::TensorValue* to = graph.tensor(node.args.back());
  if (!from || !to) return kNone;
  auto held_as = [](Dtype d) { return d == Dtype::i64 ? Dtype::i32 : d == Dtype::f64 ? Dtype::f32 : d; };
  // Bounds may differ in size when the exporter bounds a view loosely; then the two need buffers of their own.
  if (held_as(from->dtype) != held_as(to->dtype) || from->bound.numel() != to->bound.numel()) return kNone;
  return source;
}

std::vector<ValueId> find_roots(const Graph& graph, std::span<const ops::OperatorInfo* const> operators) {
  const std::vector<uint8_t> written = find_written(graph, operators);
  std::vector<ValueId> root(graph.values.size());
  for (ValueId v = 0; v < root.size(); ++v) root[v] = v;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const ValueId source = alias_source(graph, graph.nodes[n], *operators[n]);
    if (source == kNone) continue;
    // A view of something that a node writes in place keeps the contents of its own moment: it needs a copy.
    if (!written[root[source]] && !written[graph.nodes[n].args.back()]) root[graph.nodes[n].args.back()] = root[source];
  }
  return root;
}

struct Interval {
  ValueId root = 0;
  int64_t first = 0, last = 0;  // node indices, both included; inputs begin at -1
};

std::vector<Interval> find_intervals(const Graph& graph, const Layout& layout) {
  std::vector<Interval> intervals(graph.values.size(), {0, INT64_MAX, INT64_MIN});
  auto touch = [&](ValueId value, int64_t at) {
    Interval& interval = intervals[layout.root[value]];
    interval.first = std::min(interval.first, at);
    interval.last = std::max(interval.last, at);
  };
  const int64_t end = static_cast<int64_t>(graph.nodes.size());
  for (ValueId input : graph.inputs) touch(input, -1);
  for (int64_t n = 0; n < end; ++n) {
    for_each_input(graph, graph.nodes[n], [&](ValueId v) { touch(v, n); });
    for (ValueId v : layout.outputs[n])
      if (v != kNone) touch(v, n);
  }
  for (ValueId output : graph.outputs) touch(output, end);

  std::vector<Interval> used;
  for (ValueId v = 0; v < intervals.size(); ++v) {
    const graph::TensorValue* tensor = graph.tensor(v);
    if (!tensor || tensor->constant || tensor->is_state || layout.root[v] != v) continue;
    if (intervals[v].first > intervals[v].last) continue;  // in no node, input or output
    intervals[v].root = v;
    used.push_back(intervals[v]);
  }
  std::ranges::stable_sort(used, {}, &Interval::first);
  return used;
}

// Greedy: the smallest free slot that is large enough, else the largest free one, which grows.
void assign_slots(const Graph& graph, Layout& layout) {
  std::vector<int64_t> busy_until;  // of each slot: the last node of its tenant
  for (const Interval& interval : find_intervals(graph, layout)) {
    const uint64_t bytes = device_bytes(*graph.tensor(interval.root));
    uint32_t best = kNone;
    for (uint32_t s = 0; s < busy_until.size(); ++s) {
      if (busy_until[s] >= interval.first) continue;
      if (best == kNone) {
        best = s;
        continue;
      }
      const uint64_t a = layout.slot_bytes[s], b = layout.slot_bytes[best];
      const bool better = b < bytes ? a > b : a >= bytes && a < b;
      if (better) best = s;
    }
    if (best == kNone) {
      best = static_cast<uint32_t>(busy_until.size());
      busy_until.push_back(0);
      layout.slot_bytes.push_back(0);
    }
    busy_until[best] = interval.last;
    layout.slot_bytes[best] = std::max(layout.slot_bytes[best], bytes);
    layout.slot[interval.root] = best;
  }
  for (ValueId v = 0; v < layout.root.size(); ++v) layout.slot[v] = layout.slot[layout.root[v]];
}

void find_readers(const Graph& graph, Layout& layout) {
  std::vector<std::vector<uint32_t>> consumers(graph.values.size()), outputs(graph.nodes.size());
  std::vector<uint8_t> follows_symint(graph.values.size(), 0);
  layout.on_symint.assign(graph.nodes.size(), 0);
  for (NodeId n = 0; n < graph.nodes.size(); ++n) {
    for_each_input(graph, graph.nodes[n], [&](ValueId v) {
      if (consumers[v].empty() || consumers[v].back() != n) consumers[v].push_back(n);
      if (std::holds_alternative<graph::SymInt>(graph.values[v]) || follows_symint[v]) layout.on_symint[n] = 1;
    });
    outputs[n] = graph::outputs_of(graph, graph.nodes[n]);
    if (layout.on_symint[n])
      for (ValueId v : outputs[n])
        if (v != kNone) follows_symint[v] = 1;
  }
  layout.consumers.build(consumers);
  layout.outputs.build(outputs);
}

}  // namespace

void Lists::build(const std::vector<std::vector<uint32_t>>& lists) {
  first_.assign(1, 0);
  items_.clear();
  for (const auto& list : lists) {
    items_.insert(items_.end(), list.begin(), list.end());
    first_.push_back(static_cast<uint32_t>(items_.size()));
  }
}

uint64_t device_bytes(const graph::TensorValue& tensor) {
  const uint64_t bytes = tensor.bound.numel() * std::min<uint64_t>(size_of(tensor.dtype), 4);
  return std::max<uint64_t>(16, round_up(bytes, 16));
}

Layout lay_out(const Graph& graph, std::span<const ops::OperatorInfo* const> operators) {
  Layout layout;
  layout.slot.assign(graph.values.size(), kNone);
  layout.root = find_roots(graph, operators);
  find_readers(graph, layout);
  assign_slots(graph, layout);
  return layout;
}

}  // namespace sconce::planner
