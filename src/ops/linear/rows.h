// Tensors seen as rows.
#pragma once

#include "sconce/tensor.h"

namespace sconce::ops {

// The rows of a tensor [..., width], of any leading rank.
inline uint64_t leading_count(const Shape& shape) {
  uint64_t count = 1;
  for (size_t d = 0; d + 1 < shape.rank(); ++d) count *= static_cast<uint64_t>(shape[d]);
  return count;
}

}  // namespace sconce::ops
