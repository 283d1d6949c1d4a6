#include "ops/attention/attention_kernels.h"

#include <algorithm>

#include "kernels.h"

namespace sconce::ops {
namespace {

constexpr uint64_t kRowsOfTile = 4;  // of attention.wgsl
constexpr uint64_t kKeysOfTile = 64;

struct Splits {
  uint64_t count = 1;
  uint64_t keys = 0;  // of each, a multiple of kKeysOfTile
};

// Ranges of keys, so that there are about `wanted` workgroups. A software adapter has a few cores, and a second
// dispatch costs it as much as some hundred keys; a GPU needs hundreds of workgroups to be busy. The count has a limit,
// and so has the scratch memory, which does not grow with the context.
Splits split_keys(uint64_t keys, uint64_t workgroups, const record::Capabilities& capabilities) {
  const bool software = capabilities.adapter_class == record::AdapterClass::software;
  const uint64_t wanted = software ? 6 : 256;
  const uint64_t fewest_keys = software ? 256 : kKeysOfTile;
  constexpr uint64_t kMostSplits = 64;
  uint64_t count = std::max<uint64_t>(1, wanted / std::max<uint64_t>(1, workgroups));
  count = std::min({count, std::max<uint64_t>(1, keys / fewest_keys), kMostSplits});
  const uint64_t split = round_up(div_ceil(keys, count), kKeysOfTile);
  return {std::max<uint64_t>(1, div_ceil(keys, std::max<uint64_t>(1, split))), split};
}

}  // namespace

Result<void> plan_attention(const Attention& a, const record::Capabilities& capabilities, NodePlan& plan) {
  if (a.tokens == 0 || a.kv_heads == 0 || a.group == 0 || a.head_size == 0) return {};
  const uint32_t d_tiles = a.head_size <= 64 ? 1 : a.head_size <= 128 ? 2 : 4;
  const uint64_t tiles = div_ceil(a.tokens * a.group, kRowsOfTile) * div_ceil(a.head_size, 64 * d_tiles) * a.kv_heads;
  const Splits splits = split_keys(a.keys, tiles, capabilities);
  const uint64_t rows = a.tokens * a.kv_heads * a.group;
  const Operand parts =
      splits.count > 1 ? plan.scratch(splits.count * rows * (a.head_size + 2) * sizeof(float)) : a.output;
  SCONCE_DO(plan.dispatch(kernels::attention{.q = a.q,
                                             .k = a.k,
                                             .v = a.v,
                                             .mask = a.mask,
                                             .output = parts,
                                             .tokens = static_cast<uint32_t>(a.tokens),
                                             .keys = static_cast<uint32_t>(a.keys),
                                             .causal = a.causal,
                                             .first_position = static_cast<uint32_t>(a.first_position),
                                             .kv_heads = static_cast<uint32_t>(a.kv_heads),
                                             .group = static_cast<uint32_t>(a.group),
                                             .head_size = static_cast<uint32_t>(a.head_size),
                                             .q_token = static_cast<uint32_t>(a.q_token),
                                             .q_head = static_cast<uint32_t>(a.q_head),
                                             .kv_token = static_cast<uint32_t>(a.kv_token),
                                             .kv_head = static_cast<uint32_t>(a.kv_head),
                                             .scale = static_cast<float>(a.scale),
                                             .has_mask = a.mask.kind != Operand::Kind::absent,
                                             .splits = static_cast<uint32_t>(splits.count),
                                             .split_keys = static_cast<uint32_t>(splits.keys),
                                             .d_tiles = d_tiles},
                          tiles * splits.count));
  if (splits.count == 1) return {};
  return plan.dispatch(kernels::attention_merge{.parts = parts,
                                                .output = a.output,
                                                .heads = static_cast<uint32_t>(a.kv_heads * a.group),
                                                .rows = static_cast<uint32_t>(rows),
                                                .head_size = static_cast<uint32_t>(a.head_size),
                                                .splits = static_cast<uint32_t>(splits.count),
                                                .q_token = static_cast<uint32_t>(a.q_token),
                                                .q_head = static_cast<uint32_t>(a.q_head)},
                       div_ceil(rows * a.head_size, 64));
}

}  // namespace sconce::ops
