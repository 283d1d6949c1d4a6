// The dispatches of attention, apart from the operators that describe it in their own ways.
#pragma once

#include <optional>

#include "ops/contract.h"
#include "ops/rope/rotary_call.h"

namespace sconce::ops {

// What attention_step.wgsl does beside attention: the token's key and value go to row first_position of the caches, and
// with tables its queries and its key turn before.
struct NewToken {
  Operand k, v;
  std::optional<RotaryCall> rotary;
  LiveInteger table_row;
};

// Operands, sizes and strides (in elements) of one attention; see attention.wgsl.
struct Attention {
  Operand q, k, v, mask, output;
  bool half_kv = false;  // k and v are f16
  uint64_t tokens = 0;   // queries of a head
  uint64_t keys = 0;
  uint64_t capacity = 0;  // of the KV cache, when causal
  bool causal = false;
  LiveInteger first_position;        // of query 0, when causal: then keys is first_position + tokens
  uint64_t kv_heads = 0, group = 1;  // query heads = kv_heads * group
  uint64_t head_size = 0;
  uint64_t q_token = 0, q_head = 0, kv_token = 0, kv_head = 0;
  double scale = 1;
  std::optional<NewToken> token;  // else the caches hold the new rows, and q has turned
};

// Whether the kernel that takes a token fits: causal attention of one token over whole caches.
bool takes_new_token(const Attention& attention, const NewToken& token, const record::Capabilities& capabilities);

// One dispatch; or two when few queries meet many keys, so that ranges of the keys are worked on in parallel.
Result<void> plan_attention(const Attention& attention, const record::Capabilities& capabilities, NodePlan& plan);

}  // namespace sconce::ops
