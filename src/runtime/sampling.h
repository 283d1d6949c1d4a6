// Choosing the next token from logits. The GPU operator sconce.sample follows the same rules.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sconce/generation.h"

namespace sconce::runtime {

class Sampler {
 public:
  explicit Sampler(const SamplingOptions& options) : options_(options) {}

  // Token `index` of the answer. Depends on the logits, the options and the index only (a counter-based generator), so
  // a run can be repeated from anywhere. NaN logits are never chosen; -1 when no logit is a number.
  int32_t sample(std::span<const float> logits, uint64_t index);

 private:
  SamplingOptions options_;
  std::vector<std::pair<float, int32_t>> candidates_;
};

// A uniform number in [0, 1) for (seed, index): SplitMix64's finalizer over both (Steele, Lea, Flood 2014).
double uniform(uint64_t seed, uint64_t index);

}  // namespace sconce::runtime
