// 4-bit linears of many rows on a device's matrix unit: one dispatch for the product, one for each output.
#pragma once

#include "ops/node_plan.h"
#include "record/capabilities.h"

namespace sconce::ops {

// x [m, k] times `rows` rows of a weight that lie in one binding.
struct Q4MatrixProduct {
  Operand x, blocks, scales;
  uint64_t m = 0, k = 0, rows = 0;
  uint64_t first_row = 0;  // column of the scales that belongs to row 0 of the blocks
  uint64_t group_size = 0, scale_stride = 0;
};

// The product in scratch memory, as sums over `splits` parts of k.
struct Q4MatrixParts {
  Operand parts;  // [splits, padded m, columns]
  uint64_t m = 0, columns = 0, split_stride = 0, splits = 1;
};

// Columns of an output y [m, y_stride] that such a product gives.
struct Q4MatrixOutput {
  Operand y;
  uint64_t n = 0, y_stride = 0;
  uint64_t first_y = 0;       // column of y
  uint64_t first_column = 0;  // column of the product
  bool gated = false;  // silu of these columns times those from up_column on
  uint64_t up_column = 0;
  Operand addend;              // absent, a bias [y_stride] or a residual, shaped like y
  uint64_t addend_stride = 0;  // elements from one row to the next: 0 of a bias
};

// Whether the device has the unit, the caller allows f16 products, and the shapes fit it.
bool fits_matrix_unit(const Q4MatrixProduct& product, const record::Capabilities& device);

Result<Q4MatrixParts> plan_q4_matrix(const Q4MatrixProduct& product, const record::Capabilities& device,
                                     NodePlan& plan);
Result<void> plan_q4_matrix_output(const Q4MatrixParts& parts, const Q4MatrixOutput& output, NodePlan& plan);

}  // namespace sconce::ops
