// KV caches of f32 become caches of f16: tensors that start as zeros, and that nothing but attention with a KV cache
// reads or writes, as its keys and values:
//
//   k, v, k_cache (f32), v_cache (f32) -> attention        k, v, k_cache (f16), v_cache (f16) -> attention
//
// Their rows are rounded as they are appended; scores and sums stay f32.
#include <algorithm>

#include "base/sha256.h"
#include "passes/passes.h"
#include "passes/pattern.h"

namespace sconce::passes {
namespace {

constexpr size_t kKeyCache = 3, kValueCache = 4;  // arguments of the operators below

bool attends(const graph::Node& node) {
  return node.op == "sdpa_with_kv_cache.default" || node.op == "sconce.rotary_attention";
}

bool starts_as_zeros(const graph::TensorValue& tensor) {
  if (!tensor.constant) return tensor.is_state;
  return tensor.constant->key == sha256_hex_of_zeros(tensor.constant->range.size);
}

bool is_cache(const graph::Graph& graph, const Index& index, ValueId value) {
  const graph::TensorValue* tensor = graph.tensor(value);
  if (!tensor || tensor->dtype != Dtype::f32 || !starts_as_zeros(*tensor) || index.is_output(value)) return false;
  return std::ranges::all_of(index.readers(value), [&](NodeId n) {
    const graph::Node& node = graph.nodes[n];
    return attends(node) && std::ranges::count(node.args, value) == 1 &&
           (node.args[kKeyCache] == value || node.args[kValueCache] == value);
  });
}

void halve(graph::Graph& graph, ValueId value) {
  auto& tensor = std::get<graph::TensorValue>(graph.values[value]);
  tensor.dtype = Dtype::f16;
  tensor.constant.reset();
  tensor.is_state = true;
}

}  // namespace

void halve_caches(graph::Graph& graph) {
  const Index index(graph);
  for (const graph::Node& node : graph.nodes) {
    if (!attends(node) || node.args.size() <= kValueCache) continue;
    const ValueId keys = node.args[kKeyCache], values = node.args[kValueCache];
    if (!is_cache(graph, index, keys) || !is_cache(graph, index, values)) continue;
    halve(graph, keys);
    halve(graph, values);
  }
}

}  // namespace sconce::passes
