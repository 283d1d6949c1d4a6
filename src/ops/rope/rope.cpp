#include "ops/rope/rope.h"

#include "kernels.h"
#include "ops/rope/rotary_call.h"

namespace sconce::ops {

Result<RotaryCall> read_rotary_call(const Call& call, size_t tables, bool halves) {
  RotaryCall rotary{.halves = halves};
  SCONCE_TRY(rotary.xq, call.tensor(0, Dtype::f32));
  SCONCE_TRY(rotary.xk, call.tensor(1, Dtype::f32));
  SCONCE_TRY(rotary.cos, call.tensor(tables, Dtype::f32));
  SCONCE_TRY(rotary.sin, call.tensor(tables + 1, Dtype::f32));
  const Shape& q = rotary.xq.shape;
  const Shape& k = rotary.xk.shape;
  SCONCE_CHECK(q.rank() >= 3 && k.rank() == q.rank(),
               "Queries of shape {} and keys of shape {} must both be [..., tokens, heads, head size].", q, k);
  bool agree = true;
  for (size_t d = 0; d < q.rank(); ++d) agree = agree && (d == q.rank() - 2 || q[d] == k[d]);
  SCONCE_CHECK(agree, "Queries of shape {} and keys of shape {} may differ only in their number of heads.", q, k);
  SCONCE_CHECK(q.back() % 2 == 0, "The head size {} is odd, so its elements do not form pairs.", q.back());
  SCONCE_CHECK(rotary.cos.rank() == 2 && rotary.cos.shape == rotary.sin.shape,
               "The tables of cosines {} and sines {} must have one shape [positions, angles].", rotary.cos.shape,
               rotary.sin.shape);
  rotary.steps = static_cast<uint64_t>(q[q.rank() - 3]);
  rotary.head_size = static_cast<uint64_t>(q.back());
  const auto columns = static_cast<uint64_t>(rotary.cos.shape[1]);
  if (halves) {
    SCONCE_CHECK(columns % 2 == 0 && columns <= rotary.head_size,
                 "The rotary tables turn {} elements, but they must turn an even number of a head's {}.", columns,
                 rotary.head_size);
    rotary.rotary_size = columns;
  } else {
    SCONCE_CHECK(2 * columns == rotary.head_size, "The rotary tables have {} angles, but heads of {} elements need {}.",
                 columns, rotary.head_size, rotary.head_size / 2);
    rotary.rotary_size = rotary.head_size;
  }
  return rotary;
}

Result<void> check_table_rows(const RotaryCall& rotary, int64_t first_row) {
  const int64_t rows = rotary.cos.shape[0];
  SCONCE_CHECK(first_row >= 0 && first_row <= rows, "Position {} lies outside the {} positions of the rotary tables.",
               first_row, rows);
  SCONCE_CHECK(static_cast<int64_t>(rotary.steps) <= rows - first_row,
               "{} tokens from row {} on pass the {} rows of the rotary tables: the position is outside the model's "
               "context length.",
               rotary.steps, first_row, rows);
  return {};
}

Result<void> dispatch_rotation(const RotaryCall& rotary, const LiveInteger& first_row, const RotaryTargets& to,
                               NodePlan& plan) {
  using Kv = kernels::rotate_heads::Kv;
  const uint64_t q_pairs = rotary.xq.numel() / 2, k_pairs = rotary.xk.numel() / 2;
  const size_t heads_dim = rotary.xq.rank() - 2;
  return plan.dispatch(kernels::rotate_heads{.q = rotary.xq,
                                             .k = rotary.xk,
                                             .v = to.v,
                                             .cos_table = rotary.cos,
                                             .sin_table = rotary.sin,
                                             .q_out = to.q,
                                             .k_out = to.k,
                                             .v_out = to.v_out,
                                             .q_pairs = static_cast<uint32_t>(q_pairs),
                                             .k_pairs = static_cast<uint32_t>(k_pairs),
                                             .q_heads = static_cast<uint32_t>(rotary.xq.shape[heads_dim]),
                                             .k_heads = static_cast<uint32_t>(rotary.xk.shape[heads_dim]),
                                             .head_size = static_cast<uint32_t>(rotary.head_size),
                                             .rotary = static_cast<uint32_t>(rotary.rotary_size),
                                             .angles = static_cast<uint32_t>(rotary.cos.shape[1]),
                                             .steps = static_cast<uint32_t>(rotary.steps),
                                             .first_position = first_row.addend,
                                             .position_entry = first_row.entry,
                                             .out_position = to.out_row.addend,
                                             .out_entry = to.out_row.entry,
                                             .halves = rotary.halves,
                                             .append = to.v.kind != Operand::Kind::absent,
                                             .kv = to.half_kv ? Kv::f16 : Kv::f32},
                       div_ceil(q_pairs + k_pairs, 64));
}

namespace {

Result<void> plan_rotation(const RotaryCall& rotary, const LiveInteger& position, NodePlan& plan) {
  SCONCE_DO(check_table_rows(rotary, position.value));
  plan.holds_while(position, 0, rotary.cos.shape[0] - static_cast<int64_t>(rotary.steps));
  SCONCE_TRY(Operand q, plan.output(0, rotary.xq.shape));
  SCONCE_TRY(Operand k, plan.output(1, rotary.xk.shape));
  return dispatch_rotation(rotary, position, {.q = q, .k = k}, plan);
}

}  // namespace

// et_vk.apply_rotary_emb(xq [..., S, Hq, D], xk [..., S, Hk, D], cos [>= S, D/2], sin) -> [q, k]
// Pairs are neighbours (2i, 2i + 1); row s of the tables holds the angles of token s.
Result<void> plan_apply_rotary_emb(const Call& call, NodePlan& plan) {
  SCONCE_TRY(RotaryCall rotary, read_rotary_call(call, 2, /*halves=*/false));
  return plan_rotation(rotary, LiveInteger{}, plan);
}

// et_vk.apply_rotary_emb_hf(xq [..., S, Hq, D], xk [..., S, Hk, D], cos [P, R], sin, start_pos) -> [q, k]
// Pairs are (i, i + R/2) of the first R elements of a head, the others pass through; row start_pos + s of the tables
// holds the angles of token s.
Result<void> plan_apply_rotary_emb_hf(const Call& call, NodePlan& plan) {
  SCONCE_TRY(RotaryCall rotary, read_rotary_call(call, 2, /*halves=*/true));
  SCONCE_TRY(LiveInteger position, call.live_integer(4));
  return plan_rotation(rotary, position, plan);
}

// et_vk.apply_rotary_emb_interleaved(x [B, N, C], freqs, N rows of C/2 pairs (cos, sin)) -> y, shaped like x
Result<void> plan_apply_rotary_emb_interleaved(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0, Dtype::f32));
  SCONCE_TRY(TensorArg freqs, call.tensor(1, Dtype::f32));
  SCONCE_CHECK(x.rank() == 3 && x.shape[2] % 2 == 0,
               "The input has shape {}, but [batch, rows, an even number of elements] is needed.", x.shape);
  const auto row_elements = static_cast<uint64_t>(x.shape[1] * x.shape[2]);
  SCONCE_CHECK(freqs.numel() >= row_elements, "The angles have shape {}, too few for the {} rows of {}.", freqs.shape,
               x.shape[1], x.shape[2]);
  SCONCE_TRY(Operand y, plan.output(0, x.shape));
  const uint64_t pairs = x.numel() / 2;
  return plan.dispatch(kernels::rotate_interleaved{.x = x,
                                                   .freqs = freqs,
                                                   .y = y,
                                                   .pairs = static_cast<uint32_t>(pairs),
                                                   .freq_pairs = static_cast<uint32_t>(row_elements / 2)},
                       div_ceil(pairs, 64));
}

}  // namespace sconce::ops
