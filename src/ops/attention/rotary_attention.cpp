// Rotary embedding, append to the KV caches and attention as one node: passes/fuse_rotary.cpp makes it.
#include <algorithm>

#include "kernels.h"
#include "ops/attention/attention.h"
#include "ops/attention/cached_attention.h"
#include "ops/rope/rotary_call.h"

namespace sconce::ops {

// sconce.rotary_attention(the 11 arguments of sdpa_with_kv_cache, where q and k are not turned yet;
//                         cos, sin, halves, at_position) -> output, shaped like q
// With `halves` the pairs are those of apply_rotary_emb_hf, otherwise those of apply_rotary_emb. Token 0 turns by row
// start_pos of the tables with `at_position`, by row 0 without.
Result<void> plan_rotary_attention(const Call& call, NodePlan& plan) {
  SCONCE_TRY(CachedAttention a, read_cached_attention(call));
  SCONCE_TRY(bool halves, call.flag_or(13, false));
  SCONCE_TRY(bool at_position, call.flag_or(14, false));
  SCONCE_TRY(RotaryCall rotary, read_rotary_call(call, 11, halves));
  const LiveInteger first_row = at_position ? a.position : LiveInteger{};
  SCONCE_DO(check_table_rows(rotary, first_row.value));
  SCONCE_TRY(Operand output, plan.output(0, a.q.shape));
  if (a.rows.steps == 0) return {};

  const Operand turned = plan.scratch(a.q.numel() * sizeof(float));
  const uint64_t q_pairs = a.q.numel() / 2, k_pairs = a.k.numel() / 2;
  SCONCE_DO(plan.dispatch(kernels::rotate_append{.q = a.q,
                                                 .k = a.k,
                                                 .v = a.v,
                                                 .cos_table = rotary.cos,
                                                 .sin_table = rotary.sin,
                                                 .q_out = turned,
                                                 .k_cache = a.k_cache,
                                                 .v_cache = a.v_cache,
                                                 .q_pairs = static_cast<uint32_t>(q_pairs),
                                                 .k_pairs = static_cast<uint32_t>(k_pairs),
                                                 .q_heads = static_cast<uint32_t>(a.q.shape[2]),
                                                 .k_heads = static_cast<uint32_t>(a.k.shape[2]),
                                                 .head_size = static_cast<uint32_t>(rotary.head_size),
                                                 .rotary = static_cast<uint32_t>(rotary.rotary_size),
                                                 .angles = static_cast<uint32_t>(rotary.cos.shape[1]),
                                                 .steps = static_cast<uint32_t>(rotary.steps),
                                                 .first_position = first_row.addend,
                                                 .position_entry = first_row.entry,
                                                 .cache_position = a.position.addend,
                                                 .cache_entry = a.position.entry,
                                                 .halves = halves},
                          div_ceil(q_pairs + k_pairs, 64)));
  SCONCE_DO(plan_cached_attention(a, turned, output, call.capabilities(), plan));
  // The tables may end before the caches do.
  const Hold hold = plan.hold();
  if (at_position && hold.symint != graph::kNone)
    plan.holds_while(a.position, hold.low,
                     std::min<int64_t>(hold.high, rotary.cos.shape[0] - static_cast<int64_t>(rotary.steps)));
  return {};
}

}  // namespace sconce::ops
