#include <cmath>

#include "kernels.h"
#include "ops/attention/attention.h"
#include "ops/attention/attention_kernels.h"
#include "ops/attention/cached_attention.h"

namespace sconce::ops {
namespace {

Result<CacheRows> cache_rows(const TensorArg& rows, const TensorArg& cache, int64_t position) {
  const Shape &r = rows.shape, &c = cache.shape;
  SCONCE_CHECK(
      r.rank() == 4 && c.rank() == 4 && r[0] == 1 && c[0] == 1 && r[2] == c[2] && r[3] == c[3],
      "New rows of shape {} do not fit a cache of shape {}: both must be [1, tokens, heads, head size] with the "
      "same heads.",
      r, c);
  SCONCE_CHECK(position >= 0 && position <= c[1] && r[1] <= c[1] - position,
               "{} tokens from position {} on pass the {} rows of the KV cache: the position is outside the model's "
               "context length.",
               r[1], position, c[1]);
  return CacheRows{static_cast<uint64_t>(position), static_cast<uint64_t>(r[1]), static_cast<uint64_t>(r[2] * r[3])};
}

Result<double> scale_or_default(const Call& call, size_t i, int64_t head_size) {
  return call.number_or(i, head_size == 0 ? 1.0 : 1.0 / std::sqrt(static_cast<double>(head_size)));
}

}  // namespace

// update_cache(value [1, S, H, D], cache [1, C, H, D], start_pos) writes cache[0, start_pos + s] = value[0, s]. Its
// output means nothing and holds nothing.
Result<void> plan_update_cache(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg value, call.tensor(0, Dtype::f32));
  SCONCE_TRY(TensorArg cache, call.tensor(1, Dtype::f32));
  SCONCE_TRY(int64_t position, call.integer(2));
  SCONCE_TRY(CacheRows rows, cache_rows(value, cache, position));
  return plan.copy(value, 0, cache, rows.position * rows.row * sizeof(float), rows.steps * rows.row * sizeof(float));
}

Result<CachedAttention> read_cached_attention(const Call& call) {
  CachedAttention a;
  SCONCE_TRY(a.q, call.tensor(0, Dtype::f32));
  SCONCE_TRY(a.k, call.tensor(1, Dtype::f32));
  SCONCE_TRY(a.v, call.tensor(2, Dtype::f32));
  SCONCE_TRY(a.k_cache, call.tensor(3));
  SCONCE_TRY(a.v_cache, call.tensor(4, a.k_cache.dtype));
  const bool half = a.k_cache.dtype == Dtype::f16;
  if (!half && a.k_cache.dtype != Dtype::f32)
    return fail(ErrorCode::unsupported, "KV caches are of f32 or f16, not of {}.", a.k_cache.dtype);
  if (half && !call.capabilities().f16)
    return fail(ErrorCode::unsupported, "The KV caches are of f16, which this device lacks (WebGPU's shader-f16).");
  const TensorArg &q = a.q, &k = a.k, &v = a.v, &k_cache = a.k_cache, &v_cache = a.v_cache;
  SCONCE_CHECK(k.shape == v.shape && k_cache.shape == v_cache.shape,
               "Keys of shape {} and values of shape {}, or their caches {} and {}, differ.", k.shape, v.shape,
               k_cache.shape, v_cache.shape);
  const bool shaped = q.rank() == 4 && k.rank() == 4 && q.shape[0] == 1 && q.shape[1] == k.shape[1] &&
                      q.shape[3] == k.shape[3] && k.shape[2] > 0 && q.shape[2] % k.shape[2] == 0;
  SCONCE_CHECK(shaped,
               "Queries of shape {} and keys of shape {} must be [1, tokens, heads, head size], with a whole number of "
               "query heads for each key head.",
               q.shape, k.shape);
  if (!call.is_null(7))
    return fail(ErrorCode::unsupported,
                "{} has an attention mask, but with a KV cache only causal attention is supported.", call.node().op);
  SCONCE_TRY(double dropout, call.number_or(8, 0));
  SCONCE_TRY(bool causal, call.flag_or(9, true));
  if (dropout != 0 || !causal)
    return fail(ErrorCode::unsupported,
                "{} has dropout {} and is_causal {}, but only causal attention without dropout is "
                "supported.",
                call.node().op, dropout, causal);
  SCONCE_TRY(a.scale, scale_or_default(call, 10, q.shape[3]));
  SCONCE_TRY(a.position, call.live_integer(5));
  SCONCE_TRY(a.rows, cache_rows(k, k_cache, a.position.value));
  return a;
}

Attention attention_of(const CachedAttention& a, const Operand& q, const Operand& output) {
  const Shape &q_shape = a.q.shape, &k_shape = a.k.shape;
  const auto head_size = static_cast<uint64_t>(q_shape[3]);
  return {.q = q,
          .k = a.k_cache,
          .v = a.v_cache,
          .output = output,
          .half_kv = a.half(),
          .tokens = a.rows.steps,
          .keys = a.rows.position + a.rows.steps,
          .capacity = static_cast<uint64_t>(a.k_cache.shape[1]),
          .causal = true,
          .first_position = a.position,
          .kv_heads = static_cast<uint64_t>(k_shape[2]),
          .group = static_cast<uint64_t>(q_shape[2] / k_shape[2]),
          .head_size = head_size,
          .q_token = static_cast<uint64_t>(q_shape[2]) * head_size,
          .q_head = head_size,
          .kv_token = a.rows.row,
          .kv_head = head_size,
          .scale = a.scale};
}

// sdpa_with_kv_cache(q [1, S, Hq, D], k [1, S, Hkv, D], v, k_cache [1, C, Hkv, D], v_cache, start_pos, seq_len
// (unused),
//                    mask (null), dropout (0), is_causal (true), scale or null) -> output, shaped like q
// Writes k and v into rows start_pos to start_pos + S - 1 of the caches; then query s attends to rows 0 to start_pos +
// s. Query head h reads key head h / (Hq / Hkv).
Result<void> plan_sdpa_with_kv_cache(const Call& call, NodePlan& plan) {
  SCONCE_TRY(CachedAttention a, read_cached_attention(call));
  SCONCE_TRY(Operand output, plan.output(0, a.q.shape));
  Attention attention = attention_of(a, a.q, output);
  const NewToken token{.k = a.k, .v = a.v};
  if (takes_new_token(attention, token, call.capabilities())) {
    attention.token = token;
    return plan_attention(attention, call.capabilities(), plan);
  }
  const uint64_t count = a.rows.steps * a.rows.row;
  using Kv = kernels::append_kv::Kv;
  SCONCE_DO(plan.dispatch(kernels::append_kv{.k = a.k,
                                             .v = a.v,
                                             .k_cache = a.k_cache,
                                             .v_cache = a.v_cache,
                                             .count = static_cast<uint32_t>(count),
                                             .row = static_cast<uint32_t>(a.rows.row),
                                             .position = a.position.addend,
                                             .position_entry = a.position.entry,
                                             .kv = a.half() ? Kv::f16 : Kv::f32},
                          div_ceil(count, 64)));
  return plan_attention(attention, call.capabilities(), plan);
}

// et_vk.sdpa(q [B, H, Sq, D], k [B, H, Skv, D], v, mask [B, H, Sq, Skv] or null, scale or null) -> output, shaped like
// q Every query attends to every key; the mask is added to the scores.
Result<void> plan_sdpa(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg q, call.tensor(0, Dtype::f32));
  SCONCE_TRY(TensorArg k, call.tensor(1, Dtype::f32));
  SCONCE_TRY(TensorArg v, call.tensor(2, Dtype::f32));
  SCONCE_TRY(auto mask, call.optional_tensor(3, Dtype::f32));
  const Shape &qs = q.shape, &ks = k.shape;
  SCONCE_CHECK(qs.rank() == 4 && ks.rank() == 4 && ks == v.shape && qs[0] == ks[0] && qs[1] == ks[1] && qs[3] == ks[3],
               "Queries of shape {}, keys of shape {} and values of shape {} must be [batch, heads, tokens, head size] "
               "and differ only in their tokens.",
               qs, ks, v.shape);
  const Shape scores = {qs[0], qs[1], qs[2], ks[2]};
  SCONCE_CHECK(!mask || mask->shape == scores, "The mask has shape {}, but the scores have shape {}.", mask->shape,
               scores);
  SCONCE_TRY(double scale, scale_or_default(call, 4, qs[3]));
  SCONCE_TRY(Operand output, plan.output(0, qs));
  const auto head_size = static_cast<uint64_t>(qs[3]), tokens = static_cast<uint64_t>(qs[2]),
             keys = static_cast<uint64_t>(ks[2]);
  return plan_attention({.q = q,
                         .k = k,
                         .v = v,
                         .mask = mask ? Operand(*mask) : Operand{},
                         .output = output,
                         .tokens = tokens,
                         .keys = keys,
                         .kv_heads = static_cast<uint64_t>(qs[0] * qs[1]),
                         .head_size = head_size,
                         .q_token = head_size,
                         .q_head = tokens * head_size,
                         .kv_token = head_size,
                         .kv_head = keys * head_size,
                         .scale = scale},
                        call.capabilities(), plan);
}

}  // namespace sconce::ops
