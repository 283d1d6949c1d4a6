#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/elementwise/elementwise.h"
#include "ops/shared/elements.h"

namespace sconce::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

int32_t saturated(double number) {
  return static_cast<int32_t>(
      std::clamp<double>(number, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()));
}

Result<void> plan_unary_int(const TensorArg& x, const Operand& y, Unary op, UnaryNumbers numbers, NodePlan& plan) {
  using IntOp = kernels::unary_int::Op;
  auto dispatch = [&](IntOp int_op) {
    return plan.dispatch(kernels::unary_int{.x = x,
                                            .y = y,
                                            .count = static_cast<uint32_t>(x.numel()),
                                            .p = saturated(std::ceil(numbers.p)),
                                            .q = saturated(std::floor(numbers.q)),
                                            .op = int_op},
                         elementwise_workgroups(x.numel()));
  };
  switch (op) {
    case Unary::abs:
      return dispatch(IntOp::abs);
    case Unary::neg:
      return dispatch(IntOp::neg);
    case Unary::sign:
      return dispatch(IntOp::sign);
    case Unary::relu:
      return dispatch(IntOp::relu);
    case Unary::clamp:
      return dispatch(IntOp::clamp);
    case Unary::floor:
    case Unary::ceil:
    case Unary::round:
    case Unary::trunc:
      return plan.copy(x, 0, y, 0, x.numel() * 4);
    default:
      return fail(ErrorCode::unsupported, "This operator has no form for integers.");
  }
}

}  // namespace

// y = op(x). An integer x with a float y is converted first, as torch promotes.
Result<void> plan_unary_op(const Call& call, NodePlan& plan, Unary op, UnaryNumbers numbers) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_TRY(Operand y, plan.output(0, x.shape));
  const Dtype dtype = device_dtype(call.output_dtype(0));
  if (dtype == Dtype::i32 && device_dtype(x.dtype) == Dtype::i32) return plan_unary_int(x, y, op, numbers, plan);
  if (dtype != Dtype::f32)
    return fail(ErrorCode::unsupported, "{} from {} to {} has no kernel.", call.node().op, x.dtype, dtype);
  SCONCE_TRY(Operand operand, converted(x, Dtype::f32, plan));
  return plan.dispatch(kernels::unary{.x = operand,
                                      .y = y,
                                      .count = static_cast<uint32_t>(x.numel()),
                                      .p = static_cast<float>(numbers.p),
                                      .q = static_cast<float>(numbers.q),
                                      .op = op},
                       elementwise_workgroups(x.numel()));
}

// aten.clamp(x, min|None, max|None)
Result<void> plan_clamp(const Call& call, NodePlan& plan) {
  SCONCE_TRY(double low, call.number_or(1, -kInfinity));
  SCONCE_TRY(double high, call.number_or(2, kInfinity));
  return plan_unary_op(call, plan, Unary::clamp, {low, high});
}

// aten.hardtanh(x, min = -1, max = 1)
Result<void> plan_hardtanh(const Call& call, NodePlan& plan) {
  SCONCE_TRY(double low, call.number_or(1, -1.0));
  SCONCE_TRY(double high, call.number_or(2, 1.0));
  return plan_unary_op(call, plan, Unary::clamp, {low, high});
}

// aten.pow.Tensor_Scalar(x, exponent)
Result<void> plan_pow_scalar(const Call& call, NodePlan& plan) {
  SCONCE_TRY(double exponent, call.number(1));
  if (!is_float(call.output_dtype(0))) return plan_pow(call, plan);
  if (exponent == 2.0) return plan_unary_op(call, plan, Unary::square, {});
  if (exponent == 0.5) return plan_unary_op(call, plan, Unary::sqrt, {});
  const bool integral = exponent == std::floor(exponent) && std::abs(exponent) <= 1024;
  return plan_unary_op(call, plan, integral ? Unary::pow_int : Unary::pow, {exponent});
}

// aten.leaky_relu(x, slope = 0.01)
Result<void> plan_leaky_relu(const Call& call, NodePlan& plan) {
  SCONCE_TRY(double slope, call.number_or(1, 0.01));
  return plan_unary_op(call, plan, Unary::leaky_relu, {slope});
}

// aten.elu(x, alpha = 1)
Result<void> plan_elu(const Call& call, NodePlan& plan) {
  SCONCE_TRY(double alpha, call.number_or(1, 1.0));
  return plan_unary_op(call, plan, Unary::elu, {alpha});
}

// aten.hardshrink(x, lambda = 0.5)
Result<void> plan_hardshrink(const Call& call, NodePlan& plan) {
  SCONCE_TRY(double lambda, call.number_or(1, 0.5));
  return plan_unary_op(call, plan, Unary::hardshrink, {lambda});
}

// aten.gelu(x, approximate = "none" | "tanh")
Result<void> plan_gelu(const Call& call, NodePlan& plan) {
  std::string_view approximate = "none";
  if (!call.is_null(1)) {
    SCONCE_TRY(approximate, call.text(1));
  }
  SCONCE_CHECK(approximate == "none" || approximate == "tanh",
               "gelu is approximated by \"none\" or \"tanh\", not \"{}\".", approximate);
  return plan_unary_op(call, plan, approximate == "tanh" ? Unary::gelu_tanh : Unary::gelu, {});
}

}  // namespace sconce::ops
