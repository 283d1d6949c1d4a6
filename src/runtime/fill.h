// Made-up constants, so that a program's speed can be measured without its weights.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "base/error.h"
#include "planner/constants.h"

namespace sconce::runtime {

// The same bytes for the same place in a source. Floats (scales, norms, tables) lie between 0.004 and 0.008, which
// keeps activations finite through any number of layers; quantized weights are any bytes; wider integers, which may be
// indices, are 0.
class ConstantFiller {
 public:
  explicit ConstantFiller(std::span<const planner::PackedPart> parts);

  // Valid until the next call.
  std::span<const std::byte> bytes(uint32_t source, uint64_t offset, uint64_t size);

 private:
  std::map<std::pair<uint32_t, uint64_t>, Dtype> dtypes_;  // of the constant that begins there
  std::vector<std::byte> bytes_;
};

}  // namespace sconce::runtime
