// A language model's method with the choice of the next token appended (operator sconce.sample), so that generation
// needs no tensor from the host and none back:
//
//   inputs    as the method's; then the words of the choice and the slot, SymInts
//   outputs   as the method's; then the ring of chosen tokens, i32 [kRingTokens]
//
// The first input, the tokens, becomes a state that the choice writes as well: a run may leave it as it is.
#pragma once

#include <memory>

#include "runtime/generation.h"
#include "runtime/model.h"

namespace sconce::runtime {

// The method's first input are tokens [1, S], its first output logits [..., V].
Result<std::shared_ptr<const planner::Method>> add_sampling(const Model& model, const planner::Method& method);

// The words and the slot of a feed as the method's last inputs.
inline constexpr size_t kSamplingInputs = 6;
std::array<int64_t, kSamplingInputs> sampling_inputs(const Generation::Feed& feed);

}  // namespace sconce::runtime
