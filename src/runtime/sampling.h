// Choosing the next token from logits. The GPU operator sconce.sample follows the same rules.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sconce::runtime {

struct SamplingOptions {
  float temperature = 0.0f;  // 0: greedy, the first of the largest logits
  int32_t top_k = 0;         // keep the k most likely tokens; 0: all
  float top_p = 1.0f;        // keep the most likely tokens until their probabilities add up to this; 1: all
  float min_p = 0.0f;        // keep tokens at least this fraction as likely as the most likely one; 0: all
  uint64_t seed = 0;
};

class Sampler {
 public:
  explicit Sampler(const SamplingOptions& options) : options_(options) {}

  // Token `index` of the answer. Depends on the logits, the options and the index only (a counter-based generator), so a
  // run can be repeated from anywhere. NaN logits are never chosen; -1 when no logit is a number.
  int32_t sample(std::span<const float> logits, uint64_t index);

 private:
  SamplingOptions options_;
  std::vector<std::pair<float, int32_t>> candidates_;
};

// A uniform number in [0, 1) for (seed, index): SplitMix64's finalizer over both (Steele, Lea, Flood 2014).
double uniform(uint64_t seed, uint64_t index);

}  // namespace sconce::runtime
