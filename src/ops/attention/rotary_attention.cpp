// Rotary embedding, append to the KV caches and attention as one node: passes/fuse_rotary.cpp makes it.
#include <algorithm>

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

  Attention attention = attention_of(a, a.q, output);
  const NewToken token{.k = a.k, .v = a.v, .rotary = rotary, .table_row = first_row};
  if (takes_new_token(attention, token, call.capabilities())) {
    attention.token = token;
  } else {
    attention.q = plan.scratch(a.q.numel() * sizeof(float));
    SCONCE_DO(dispatch_rotation(
        rotary, first_row,
        {.q = attention.q, .k = a.k_cache, .v = a.v, .v_out = a.v_cache, .out_row = a.position, .half_kv = a.half()},
        plan));
  }
  SCONCE_DO(plan_attention(attention, call.capabilities(), plan));
  // The tables may end before the caches do.
  const Hold hold = plan.hold();
  if (at_position && hold.symint != graph::kNone)
    plan.holds_while(a.position, hold.low,
                     std::min<int64_t>(hold.high, rotary.cos.shape[0] - static_cast<int64_t>(rotary.steps)));
  return {};
}

}  // namespace sconce::ops
