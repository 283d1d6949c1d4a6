#include "ops/sampling/sampling.h"

#include <bit>

#include "kernels.h"

namespace sconce::ops {
namespace {

constexpr uint64_t kChunk = 512;      // logits that a workgroup reads: kLogitChunk of logit_rank.wgsl
constexpr uint64_t kDrawLanes = 256;  // of sample_draw.wgsl

// What the host chose for this step, as the words of runtime::SamplingWords.
struct Choice {
  float scale;  // 0: greedy
  uint32_t top_k, top_p, min_weight, draw, slot;
};

Result<uint32_t> word(const Call& call, size_t i) {
  SCONCE_TRY(int64_t value, call.integer(i));
  return static_cast<uint32_t>(value);
}

Result<Choice> read_choice(const Call& call) {
  Choice choice;
  SCONCE_TRY(uint32_t scale, word(call, 3));
  choice.scale = std::bit_cast<float>(scale);
  SCONCE_TRY(choice.top_k, word(call, 4));
  SCONCE_TRY(choice.top_p, word(call, 5));
  SCONCE_TRY(choice.min_weight, word(call, 6));
  SCONCE_TRY(choice.draw, word(call, 7));
  SCONCE_TRY(choice.slot, word(call, 8));
  return choice;
}

}  // namespace

// sconce.sample(logits [..., V], tokens (i32), ring (i32), scale, top_k, top_p, min_weight, draw, slot) -> nothing
//
// Chooses a token from the last row of the logits and writes it to tokens[0], where the next step finds it, and to
// ring[slot], where the host reads it when it likes. The rule is that of runtime/sampling.h. Greedy: 2 dispatches.
// Without top_k and top_p 3, else 4.
Result<void> plan_sample(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg logits, call.tensor(0, Dtype::f32));
  SCONCE_TRY(TensorArg tokens, call.tensor(1));
  SCONCE_TRY(TensorArg ring, call.tensor(2));
  SCONCE_TRY(Choice choice, read_choice(call));
  SCONCE_CHECK(logits.rank() > 0 && logits.shape.back() > 0, "Logits of shape {} have no vocabulary to choose from.",
               logits.shape);
  SCONCE_CHECK(choice.slot < ring.numel(), "Slot {} lies outside of the ring of {} tokens.", choice.slot, ring.numel());
  if (logits.numel() == 0 || tokens.numel() == 0) return {};

  const auto count = static_cast<uint32_t>(logits.shape.back());
  const auto first = static_cast<uint32_t>(logits.numel() - count);
  const uint64_t chunks = div_ceil(count, kChunk);
  const auto chunk_count = static_cast<uint32_t>(chunks);
  Operand written = tokens;
  written.bytes = sizeof(int32_t);
  const Operand best = plan.scratch(chunks * 8), histogram = plan.scratch(128 * 4);
  SCONCE_DO(plan.dispatch(
      kernels::sample_best{.logits = logits, .best = best, .histogram = histogram, .first = first, .count = count},
      chunks));
  if (choice.scale <= 0.0f)
    return plan.dispatch(
        kernels::sample_greedy{
            .best = best, .ring = ring, .tokens = written, .chunks = chunk_count, .slot = choice.slot},
        1);

  const Operand weights = plan.scratch(count * 4), sums = plan.scratch(chunks * 8);
  SCONCE_DO(plan.dispatch(kernels::sample_weights{.logits = logits,
                                                  .best = best,
                                                  .weights = weights,
                                                  .sums = sums,
                                                  .histogram = histogram,
                                                  .first = first,
                                                  .count = count,
                                                  .chunks = chunk_count,
                                                  .scale = choice.scale,
                                                  .min_weight = choice.min_weight},
                          chunks));
  const bool ranked = choice.top_k > 0 || choice.top_p > 0;
  kernels::sample_draw draw{.entries = weights,
                            .counts = sums,
                            .histogram = histogram,
                            .ring = ring,
                            .tokens = written,
                            .count = count,
                            .chunks = chunk_count,
                            .per_lane = static_cast<uint32_t>(div_ceil(chunks, kDrawLanes)),
                            .top_k = choice.top_k,
                            .top_p = choice.top_p,
                            .draw = choice.draw,
                            .slot = choice.slot,
                            .ranked = ranked ? 1u : 0u};
  if (ranked) {
    draw.entries = plan.scratch(chunks * kChunk * 8);
    draw.counts = plan.scratch(chunks * 4);
    SCONCE_DO(plan.dispatch(kernels::sample_gather{.weights = weights,
                                                   .histogram = histogram,
                                                   .entries = draw.entries,
                                                   .counts = draw.counts,
                                                   .count = count,
                                                   .top_k = choice.top_k,
                                                   .top_p = choice.top_p},
                            chunks));
  }
  return plan.dispatch(draw, 1);
}

}  // namespace sconce::ops
