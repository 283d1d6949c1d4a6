// Causal attention with KV caches, read from a call and planned, for every operator that contains one.
#pragma once

#include "ops/attention/attention_kernels.h"
#include "ops/contract.h"

namespace sconce::ops {

// Where S new rows of shape [1, S, H, D] go in a cache of shape [1, C, H, D].
struct CacheRows {
  uint64_t position = 0, steps = 0;
  uint64_t row = 0;  // elements of a row
};

struct CachedAttention {
  TensorArg q, k, v, k_cache, v_cache;  // caches of f32 or both of f16
  LiveInteger position;                 // of the first query
  CacheRows rows;
  double scale = 1;
  bool half() const { return k_cache.dtype == Dtype::f16; }
};

// Arguments 0 to 10 are those of sdpa_with_kv_cache.
Result<CachedAttention> read_cached_attention(const Call& call);
// The attention of `q`, shaped like a.q, over caches that hold the new rows.
Attention attention_of(const CachedAttention& a, const Operand& q, const Operand& output);

}  // namespace sconce::ops
