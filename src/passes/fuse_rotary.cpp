// Rotary embedding becomes part of the attention with a KV cache that alone reads what it turns:
//
//   table -> slice(start_pos) -> cos, sin
//                                   |
//   q, k -------------------> apply_rotary_emb -> q', k'     q, k, v, tables -> rotary_attention(start_pos) -> y
//                                                 |
//   v, caches, start_pos ------> sdpa_with_kv_cache -> y
//
// Tables that are not slices of constants at start_pos are read as they are. The fused node stands where the attention
// stood, so nothing may write in place what the rotation reads.
#include <optional>

#include "passes/passes.h"
#include "passes/pattern.h"

namespace sconce::passes {
namespace {

using graph::Graph;
using graph::Node;

constexpr size_t kAttentionArguments = 11, kStartPos = 5;

bool is_integer(const Graph& graph, ValueId value, int64_t number) {
  const auto* integer = value == kNone ? nullptr : std::get_if<int64_t>(&graph.values[value]);
  return integer != nullptr && *integer == number;
}

// The tensor of one element that a SymInt is read from, or kNone: exporters read input_pos at 0 and at -1.
ValueId only_element_of(const Graph& graph, const Index& index, ValueId symint) {
  const NodeId n = index.direct_producer(symint);
  if (n == kNone || graph.nodes[n].op != "et_vk.select_as_symint.default") return kNone;
  const graph::TensorValue* tensor = graph.tensor(graph.nodes[n].args[0]);
  return tensor != nullptr && tensor->bound.numel() == 1 ? index.source(graph.nodes[n].args[0]) : kNone;
}

bool is_same_symint(const Graph& graph, const Index& index, ValueId a, ValueId b) {
  if (a == kNone || !std::holds_alternative<graph::SymInt>(graph.values[b])) return false;
  const ValueId element = only_element_of(graph, index, a);
  return a == b || (element != kNone && element == only_element_of(graph, index, b));
}

// The constant table whose rows from `start` on `value` holds; kNone when it is something else.
ValueId find_sliced_table(const Graph& graph, const Index& index, ValueId value, ValueId start) {
  const NodeId n = index.direct_producer(value);
  if (n == kNone || graph.nodes[n].op != "aten.slice_copy.Tensor") return kNone;
  const Node& slice = graph.nodes[n];
  const ValueId dim = argument(graph, slice, 1), step = argument(graph, slice, 4);
  const bool rows = (dim == kNone || is_integer(graph, dim, 0)) && (step == kNone || is_integer(graph, step, 1));
  const bool same_start = is_same_symint(graph, index, argument(graph, slice, 2), start);
  return rows && same_start && index.is_constant(slice.args[0]) ? slice.args[0] : kNone;
}

struct Rotation {
  NodeId node = kNone;
  ValueId q = kNone, k = kNone, cos = kNone, sin = kNone;
  bool halves = false;
  bool at_position = false;  // token 0 turns by row start_pos of the tables, not by row 0
};

// The rotation whose outputs are q and k of the attention `n` and nothing else.
std::optional<Rotation> match(const Graph& graph, const Index& index, NodeId n) {
  const Node& attention = graph.nodes[n];
  const NodeId r = index.direct_producer(attention.args[0]);
  if (r == kNone) return std::nullopt;
  const Node& node = graph.nodes[r];
  Rotation found{.node = r};
  found.halves = node.op == "et_vk.apply_rotary_emb_hf.default";
  if (!found.halves && node.op != "et_vk.apply_rotary_emb.default") return std::nullopt;
  if (node.args.size() != (found.halves ? 6u : 5u)) return std::nullopt;
  const std::vector<ValueId> turned = graph::outputs_of(graph, node);
  if (turned.size() != 2 || turned[0] != attention.args[0] || turned[1] != attention.args[1]) return std::nullopt;
  if (index.only_reader(turned[0]) != n || index.only_reader(turned[1]) != n) return std::nullopt;
  const ValueId v = index.source(attention.args[2]);
  if (v == turned[0] || v == turned[1]) return std::nullopt;  // the values are turned, too

  found.q = node.args[0], found.k = node.args[1], found.cos = node.args[2], found.sin = node.args[3];
  const ValueId start = attention.args[kStartPos];
  found.at_position = found.halves && equal(graph, node.args[4], start);
  if (found.halves && !found.at_position && !is_integer(graph, node.args[4], 0)) return std::nullopt;
  if (!found.at_position) {
    const ValueId cos = find_sliced_table(graph, index, found.cos, start);
    const ValueId sin = find_sliced_table(graph, index, found.sin, start);
    if (cos != kNone && sin != kNone) found.cos = cos, found.sin = sin, found.at_position = true;
  }
  for (ValueId value : {found.q, found.k, found.cos, found.sin})
    if (index.is_written(index.source(value))) return std::nullopt;
  return found;
}

}  // namespace

void fuse_rotary(Graph& graph) {
  const Index index(graph);
  Rewrite rewrite(graph);
  for (NodeId n = 0; n < graph.nodes.size(); ++n) {
    const Node& attention = graph.nodes[n];
    if (attention.op != "sdpa_with_kv_cache.default" || attention.args.size() != kAttentionArguments + 1) continue;
    const std::optional<Rotation> rotation = match(graph, index, n);
    if (!rotation) continue;
    std::vector<ValueId> args = attention.args;
    args[0] = rotation->q, args[1] = rotation->k;
    const ValueId output = args.back();
    args.back() = rotation->cos;
    args.insert(args.end(), {rotation->sin, graph.add(rotation->halves), graph.add(rotation->at_position), output});
    rewrite.replace(n, "sconce.rotary_attention", std::move(args));
  }
  rewrite.finish();
}

}  // namespace sconce::passes
