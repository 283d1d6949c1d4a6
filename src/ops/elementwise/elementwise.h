// Operators that make each output element from the elements at its place: unary, broadcasting, comparing, converting,
// filling.
#pragma once

#include "kernels.h"
#include "ops/contract.h"

namespace sconce::ops {

// ---- one operand ----
using Unary = kernels::unary::Op;

// What the numbers after the first argument mean: p and q of unary.wgsl.
struct UnaryNumbers {
  double p = 0, q = 0;
};
Result<void> plan_unary_op(const Call& call, NodePlan& plan, Unary op, UnaryNumbers numbers);

template <Unary op>
Result<void> plan_unary(const Call& call, NodePlan& plan) {
  return plan_unary_op(call, plan, op, {});
}
Result<void> plan_clamp(const Call& call, NodePlan& plan);
Result<void> plan_hardtanh(const Call& call, NodePlan& plan);
Result<void> plan_pow_scalar(const Call& call, NodePlan& plan);
Result<void> plan_leaky_relu(const Call& call, NodePlan& plan);
Result<void> plan_elu(const Call& call, NodePlan& plan);
Result<void> plan_hardshrink(const Call& call, NodePlan& plan);
Result<void> plan_gelu(const Call& call, NodePlan& plan);

// ---- two operands, each a tensor or a number ----
using Binary = kernels::binary::Op;
using Compare = kernels::compare::Op;
using Logical = kernels::logical::Op;

// y = a op b in the element type of the output; alpha multiplies b of add.
Result<void> plan_binary_op(const Call& call, NodePlan& plan, Binary op, double alpha);
// y = a + b in f32, for operators that end in a sum: y has the shape that the two broadcast to.
struct ShapedOperand {
  Operand data;
  Shape shape;
};
Result<void> plan_sum_of(const ShapedOperand& a, const ShapedOperand& b, const Operand& y, NodePlan& plan);
Result<void> plan_compare_op(const Call& call, NodePlan& plan, Compare op);
Result<void> plan_logical_op(const Call& call, NodePlan& plan, Logical op);

template <Binary op>
Result<void> plan_binary(const Call& call, NodePlan& plan) {
  return plan_binary_op(call, plan, op, 1.0);
}
Result<void> plan_add(const Call& call, NodePlan& plan);
Result<void> plan_sub(const Call& call, NodePlan& plan);
Result<void> plan_rsub(const Call& call, NodePlan& plan);
Result<void> plan_div_mode(const Call& call, NodePlan& plan);
Result<void> plan_floor_divide(const Call& call, NodePlan& plan);
Result<void> plan_pow(const Call& call, NodePlan& plan);

template <Compare op>
Result<void> plan_compare(const Call& call, NodePlan& plan) {
  return plan_compare_op(call, plan, op);
}

template <Logical op>
Result<void> plan_logical(const Call& call, NodePlan& plan) {
  return plan_logical_op(call, plan, op);
}
// On bools the logical operators, on integers bit by bit.
template <Logical op, Binary int_op>
Result<void> plan_bitwise(const Call& call, NodePlan& plan) {
  return call.output_dtype(0) == Dtype::boolean ? plan_logical_op(call, plan, op)
                                                : plan_binary_op(call, plan, int_op, 1);
}
Result<void> plan_logical_not(const Call& call, NodePlan& plan);
Result<void> plan_bitwise_not(const Call& call, NodePlan& plan);

// ---- others ----
Result<void> plan_where(const Call& call, NodePlan& plan);
Result<void> plan_to_copy(const Call& call, NodePlan& plan);
Result<void> plan_full(const Call& call, NodePlan& plan);
Result<void> plan_full_like(const Call& call, NodePlan& plan);
Result<void> plan_scalar_tensor(const Call& call, NodePlan& plan);
Result<void> plan_arange(const Call& call, NodePlan& plan);
Result<void> plan_arange_start_step(const Call& call, NodePlan& plan);

template <int value>
Result<void> plan_constant_fill(const Call& call, NodePlan& plan);  // zeros, ones: the first argument is a size
template <int value>
Result<void> plan_constant_fill_like(const Call& call, NodePlan& plan);  // zeros_like, ones_like

}  // namespace sconce::ops
