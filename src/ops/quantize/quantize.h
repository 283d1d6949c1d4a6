// Activations of 8 bits: a scale and a zero point for each row, chosen in each run.
#pragma once

#include "ops/contract.h"

namespace sconce::ops {

// Rows of activations and what they are held with as int8.
struct QuantizedRows {
  TensorArg x;           // f32 [..., width]
  TensorArg scale;       // f32, one for each row
  TensorArg zero_point;  // i8, likewise
};

// Arguments 0 to 2 of a call, checked.
Result<QuantizedRows> read_quantized_rows(const Call& call);
// y, shaped like rows.x, is x rounded to its row's grid of int8.
Result<void> plan_rounding(const QuantizedRows& rows, const Operand& y, NodePlan& plan);

Result<void> plan_choose_qparams_affine(const Call& call, NodePlan& plan);
Result<void> plan_round_rows(const Call& call, NodePlan& plan);

}  // namespace sconce::ops
