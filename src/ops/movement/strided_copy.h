// The one way to copy part of a tensor into part of another: slices, permutations, repeats, concatenations.
#pragma once

#include "ops/contract.h"
#include "ops/shared/strides.h"

namespace sconce::ops {

struct StridedCopy {
  Operand from, to;
  int64_t from_offset = 0, to_offset = 0;  // in elements
  size_t element_bytes = 4;                // 4 or 1
  // Strides 0 and 1 are those of `from` and `to`. Those of `to` must fall from dim to dim, as in a row-major tensor.
  StridedBox box;
};

// A buffer copy when the bytes lie side by side, else a dispatch; nothing for an empty box.
Result<void> plan_strided_copy(StridedCopy copy, NodePlan& plan);

// Output i of the node, of shape `shape`, filled with the elements of `x` at offset + coordinates . strides.
Result<void> plan_strided_view(const TensorArg& x, size_t i, const Shape& shape, int64_t offset, const Strides& strides,
                               NodePlan& plan);

}  // namespace sconce::ops
