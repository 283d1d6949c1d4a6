// Token by token generation as a state machine without I/O, the same natively and in the browser:
//
//   begin(tokens, options)
//   while (next() gives a feed) { submit it }      up to steps_ahead feeds are under way at once
//   accept(ring) or accept(logits)                 the result of the oldest one, once it is there
//
// It chunks the prompt, advances the position, decides when to stop, and remembers what the KV cache holds, so that the
// next begin() prefills only what is new.
//
// Steps ahead: a step's token lies on the GPU, written by sconce.sample, so the next step can be submitted before the
// host knows it. When an answer ends, the steps beyond its end are given up: their results are never read. What they
// wrote into the KV cache does no harm. They wrote rows behind all known tokens, a step attends only to rows up to its
// own, and whatever is fed next starts at or before the first of those rows and writes each row before attending to it.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/sampling.h"
#include "sconce/adapter.h"

namespace sconce::runtime {

inline constexpr uint32_t kRingTokens = 64;  // chosen tokens that stay on the GPU until the host reads them

// How feeds are cut.
struct Pace {
  size_t steps_ahead = 1;         // feeds under way at once; 1 where the host samples
  size_t first_chunk = SIZE_MAX;  // most tokens of a prompt's first feed, while nothing is known of the device's speed
  // A prompt's feeds should take about this long, so that cancelling works between them; 0: as large as the bound.
  double chunk_seconds = 0;
};
// What suits a kind of adapter, in every driver.
Pace pace_of(AdapterClass adapter);

class Generation {
 public:
  // `prefill_bound`: most tokens in one run; `capacity`: rows of the KV cache.
  Generation(size_t prefill_bound, size_t capacity, const Pace& pace = {})
      : prefill_bound_(prefill_bound), capacity_(capacity), pace_(pace), chunk_(pace.first_chunk) {}

  // Starts an answer to the whole conversation so far, `tokens`. What the cache already holds of its beginning is kept.
  // Feeds that are under way are given up. A prompt that does not fit is an error and changes nothing.
  Result<void> begin(std::span<const int32_t> tokens, const GenerationOptions& options);

  // Tokens to run at positions [position, position + count). Only a feed that chooses a token needs logits.
  struct Feed {
    std::span<const int32_t> tokens;  // empty when the host does not know the token yet
    size_t count = 0, position = 0;
    bool is_prefill = false;  // of the prompt; else one token, the last that was chosen
    bool needs_logits = false;
    SamplingWords words;  // of the choice that follows
    uint32_t slot = 0;    // of the ring, for the chosen token
  };
  // Nothing when the answer is complete, stop_reason() then says why, or when results must be accepted first.
  std::optional<Feed> next();
  // The last feed could not be submitted: it is as if it had not been given.
  void withdraw();

  // The result of the oldest feed: the ring as it was after it, or the logits of its last token for the host to choose
  // from (empty if it did not need them). `seconds` is what the feed took, if known. Gives the new token, or nothing
  // while prefilling and when an end token was chosen.
  Result<std::optional<int32_t>> accept(std::span<const int32_t> ring, double seconds);
  Result<std::optional<int32_t>> accept(std::span<const float> logits);
  size_t under_way() const { return under_way_.size(); }

  // Ends the answer; feeds that are under way are given up.
  void cancel() { stop(StopReason::cancelled); }
  StopReason stop_reason() const { return stop_; }
  // Forgets the cache's contents: the session was reset.
  void forget();

  size_t prompt_tokens() const { return prompt_; }        // of the current answer, cached ones included
  size_t prefilled_tokens() const { return prefilled_; }  // of them, those that had to be run
  size_t new_tokens() const { return produced_; }

 private:
  void stop(StopReason reason);
  size_t chosen_ahead() const;  // tokens that feeds under way choose
  Result<std::optional<int32_t>> take(const Feed& feed, int32_t token);

  size_t prefill_bound_, capacity_;
  Pace pace_;
  size_t chunk_;                 // most tokens of the next feed of a prompt
  std::vector<int32_t> tokens_;  // the conversation: prompt and what was generated
  size_t cached_ = 0;            // rows of the KV cache that accepted feeds wrote
  size_t fed_ = 0;               // and those that feeds under way write
  std::deque<Feed> under_way_;
  GenerationOptions options_;
  Sampler sampler_;
  size_t prompt_ = 0, prefilled_ = 0, produced_ = 0;
  StopReason stop_ = StopReason::none;
};

}  // namespace sconce::runtime
