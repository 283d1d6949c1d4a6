// How an answer is generated and why it ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sconce {

struct SamplingOptions {
  float temperature = 0.0f;  // 0: greedy, the first of the largest logits
  int32_t top_k = 0;         // keep the k most likely tokens; 0: all
  float top_p = 1.0f;        // keep the most likely tokens until their probabilities add up to this; 1: all
  float min_p = 0.0f;        // keep tokens at least this fraction as likely as the most likely one; 0: all
  uint64_t seed = 0;         // the same seed and logits give the same tokens on every machine (runtime/sampling.h)
};

struct GenerationOptions {
  SamplingOptions sampling;
  size_t max_new_tokens = SIZE_MAX;
  std::vector<int32_t> end_tokens;  // end the answer and are not part of it
  // Bring the logits that each token was chosen from to the host (Generator::logits): costs a copy a token.
  bool read_logits = false;
};

enum class StopReason {
  none,            // not complete yet
  end_token,       // the model ended its answer
  max_new_tokens,  // the caller's limit
  length,          // the model's context is full
  cancelled,       // cancel() was called
};
// "stop", "max_new_tokens", "length", "cancelled": the words of the usual completion APIs; "none" before the end.
const char* name_of(StopReason reason);

}  // namespace sconce
