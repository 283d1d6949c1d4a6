// Token by token generation as a state machine without I/O, the same natively and in the browser:
//
//   begin(tokens, options)
//   while (next() gives a feed) { run the model on it; accept(logits) }
//
// It chunks the prompt, advances the position, decides when to stop, and remembers what the KV cache holds, so that the
// next begin() prefills only what is new.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/sampling.h"

namespace sconce::runtime {

class Generation {
 public:
  // `prefill_bound`: most tokens in one run; `capacity`: rows of the KV cache.
  Generation(size_t prefill_bound, size_t capacity) : prefill_bound_(prefill_bound), capacity_(capacity) {}

  // Starts an answer to the whole conversation so far, `tokens`. What the cache already holds of its beginning is kept.
  // A prompt that does not fit is an error and changes nothing.
  Result<void> begin(std::span<const int32_t> tokens, const GenerationOptions& options);

  // Tokens to run at positions [position, position + size). Only the last feed's logits matter while prefilling.
  struct Feed {
    std::span<const int32_t> tokens;
    size_t position = 0;
    bool is_prefill = false;
    bool needs_logits = false;
  };
  // Nothing when the answer is complete; stop_reason() then says why.
  std::optional<Feed> next();

  // The logits of the feed's last token, one a vocabulary entry (empty if it did not need them). Gives the new token,
  // or nothing while prefilling and when an end token was chosen.
  Result<std::optional<int32_t>> accept(std::span<const float> logits);

  void cancel() { stop_ = StopReason::cancelled; }
  StopReason stop_reason() const { return stop_; }
  // Forgets the cache's contents: the session was reset.
  void forget() { cached_.clear(); }

  size_t prompt_tokens() const { return prompt_; }        // of the current answer, cached ones included
  size_t prefilled_tokens() const { return prefilled_; }  // of them, those that had to be run
  size_t new_tokens() const { return produced_; }

 private:
  size_t prefill_bound_, capacity_;
  std::vector<int32_t> tokens_;  // the conversation: prompt and what was generated
  std::vector<int32_t> cached_;  // what rows [0, size) of the KV cache hold
  GenerationOptions options_;
  Sampler sampler_{SamplingOptions{}};
  size_t feed_ = 0;  // tokens of the feed that is running
  size_t prompt_ = 0, prefilled_ = 0, produced_ = 0;
  StopReason stop_ = StopReason::none;
};

}  // namespace sconce::runtime
