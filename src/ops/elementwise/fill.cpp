// Tensors made from numbers, and conversions between element types.
#include <cmath>

#include "ops/elementwise/elementwise.h"
#include "ops/shared/elements.h"

namespace sconce::ops {
namespace {

Result<void> fill_output(const Call& call, NodePlan& plan, const Shape& shape, double number) {
  SCONCE_TRY(Operand y, plan.output(0, shape));
  return plan_fill(y, call.output_dtype(0), shape.numel(), number, plan);
}

Result<Shape> size_argument(const Call& call, size_t i) {
  SCONCE_TRY(auto sizes, call.integers(i));
  return Shape::from(sizes);
}

}  // namespace

// aten._to_copy(x, ...) and the dim-order forms: the output's element type says what to convert to.
Result<void> plan_to_copy(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  const Dtype to = call.output_dtype(0);
  if (device_dtype(to) == device_dtype(x.dtype)) return plan.reinterpret(0, x.shape, x);
  SCONCE_TRY(Operand y, plan.output(0, x.shape));
  return plan_convert(x, x.dtype, y, to, x.numel(), plan);
}

// aten.full(size, number, ...)
Result<void> plan_full(const Call& call, NodePlan& plan) {
  SCONCE_TRY(Shape shape, size_argument(call, 0));
  SCONCE_TRY(double number, call.number(1));
  return fill_output(call, plan, shape, number);
}

// aten.full_like(x, number, ...)
Result<void> plan_full_like(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_TRY(double number, call.number(1));
  return fill_output(call, plan, x.shape, number);
}

template <int value>
Result<void> plan_constant_fill(const Call& call, NodePlan& plan) {
  SCONCE_TRY(Shape shape, size_argument(call, 0));
  return fill_output(call, plan, shape, value);
}
template Result<void> plan_constant_fill<0>(const Call&, NodePlan&);
template Result<void> plan_constant_fill<1>(const Call&, NodePlan&);

template <int value>
Result<void> plan_constant_fill_like(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  return fill_output(call, plan, x.shape, value);
}
template Result<void> plan_constant_fill_like<0>(const Call&, NodePlan&);
template Result<void> plan_constant_fill_like<1>(const Call&, NodePlan&);

// aten.scalar_tensor(number, ...)
Result<void> plan_scalar_tensor(const Call& call, NodePlan& plan) {
  SCONCE_TRY(double number, call.number(0));
  return fill_output(call, plan, Shape{}, number);
}

namespace {

Result<void> plan_sequence(const Call& call, NodePlan& plan, double start, double end, double step) {
  SCONCE_CHECK(step != 0 && (end - start) / step >= 0, "arange does not reach {} from {} in steps of {}.", end, start,
               step);
  const int64_t count = static_cast<int64_t>(std::ceil((end - start) / step));
  SCONCE_TRY(Operand y, plan.output(0, Shape{count}));
  const Dtype dtype = device_dtype(call.output_dtype(0));
  if (is_byte(dtype)) return fail(ErrorCode::unsupported, "arange makes f32 or integers of 32 bits, not {}.", dtype);
  SCONCE_TRY(uint32_t start_bits, bits_of(start, dtype));
  SCONCE_TRY(uint32_t step_bits, bits_of(step, dtype));
  return plan.dispatch(kernels::fill{.y = y,
                                     .count = static_cast<uint32_t>(count),
                                     .start_bits = start_bits,
                                     .step_bits = step_bits,
                                     .elem = dtype == Dtype::f32 ? kernels::fill::Elem::f32 : kernels::fill::Elem::i32},
                       elementwise_workgroups(count));
}

}  // namespace

// aten.arange.start_step(start, end, step = 1, ...): start, start + step, ... below end (above it for a negative step)
Result<void> plan_arange_start_step(const Call& call, NodePlan& plan) {
  SCONCE_TRY(double start, call.number(0));
  SCONCE_TRY(double end, call.number(1));
  SCONCE_TRY(double step, call.number_or(2, 1.0));
  return plan_sequence(call, plan, start, end, step);
}

// aten.arange.default(end, ...): 0, 1, ... below end
Result<void> plan_arange(const Call& call, NodePlan& plan) {
  SCONCE_TRY(double end, call.number(0));
  return plan_sequence(call, plan, 0.0, end, 1.0);
}

}  // namespace sconce::ops
