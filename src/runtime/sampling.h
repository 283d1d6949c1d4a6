// Choosing the next token from logits: the rule, the words in which a step gets it, and a host implementation.
//
// The rule, in whole numbers so that every machine and every order of summing choose the same token:
//
//   weight   of the largest logits 2^30; of others floor(2^30 * 2^-x) with x = (largest - logit) * scale in f32, cut to
//            20 binary places, and 2^-x by 9 terms of a series in steps of 2^-31; of NaN and of weights under
//            min_weight 0
//   top_k    of the weights in falling order, equals by rising id, the first top_k are kept
//   top_p    of these the fewest first ones are kept that add up to floor(sum * top_p / 2^32), at least to 1
//   draw     by rising id, the first token is chosen at which the kept weights add up to more than floor(sum * draw /
//   2^32)
//
// Greedy is the largest logit, of equals the lowest id. The GPU operator sconce.sample (src/ops/sampling) does the
// same; tests hold one against the other.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sconce/generation.h"

namespace sconce::runtime {

// The arguments of one choice: what sconce.sample takes as SymInts.
struct SamplingWords {
  float scale = 0.0f;       // log2(e) / temperature; 0: greedy
  uint32_t top_k = 0;       // 0: all
  uint32_t top_p = 0;       // in units of 2^-32; 0: all
  uint32_t min_weight = 1;  // in units of 2^-30
  uint32_t draw = 0;        // uniform

  // As 32-bit words, in the operator's order.
  std::array<int64_t, 5> symints() const;
};

// The words for token `index` of an answer. The draw depends on seed and index only (a counter-based generator), so an
// answer can be repeated from anywhere.
SamplingWords sampling_words(const SamplingOptions& options, uint64_t index);

// Chooses on the host. NaN is never chosen; -1 when no logit is a number.
class Sampler {
 public:
  int32_t sample(std::span<const float> logits, const SamplingWords& words);

 private:
  std::vector<std::pair<uint32_t, int32_t>> candidates_;  // weight and token
};

}  // namespace sconce::runtime
