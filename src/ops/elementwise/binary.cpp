// Broadcasting operators of two operands: arithmetic, comparisons and logic. Each operand is a tensor or a number.
#include <cmath>

#include "ops/elementwise/elementwise.h"
#include "ops/shared/elements.h"
#include "ops/shared/strides.h"

namespace sconce::ops {
namespace {

struct Side {
  std::optional<TensorArg> tensor;  // else a number
  double number = 0;

  Shape shape() const { return tensor ? tensor->shape : Shape{}; }
};

Result<Side> read_side(const Call& call, size_t i) {
  if (call.is_tensor(i)) {
    SCONCE_TRY(TensorArg tensor, call.tensor(i));
    return Side{tensor};
  }
  SCONCE_TRY(double number, call.number(i));
  return Side{std::nullopt, number};
}

// The form of two tensors, and the box where one is broadcast.
template <typename Kernel>
Result<void> set_form(Kernel& kernel, const Shape& a, const Shape& b, const Shape& shape) {
  using Form = typename Kernel::Form;
  kernel.form = Form::dense;
  if (a.numel() == shape.numel() && b.numel() == shape.numel()) return {};
  kernel.form = Form::broadcast;
  const Strides strides_a = broadcast_strides(a, shape), strides_b = broadcast_strides(b, shape);
  StridedBox box;
  for (size_t d = 0; d < shape.rank(); ++d) box.add(shape[d], strides_a[d], strides_b[d]);
  kernel.rank = box.rank();
  SCONCE_TRY(kernel.dims, box.template dims<8>());
  return {};
}

// Everything that the kernels of this file have in common: operands as elements of `dtype`, the form, the box.
template <typename Kernel>
Result<Kernel> pair_kernel(const Side& a, const Side& b, const Shape& shape, Dtype dtype, NodePlan& plan) {
  Kernel kernel;
  kernel.count = static_cast<uint32_t>(shape.numel());
  if (a.tensor) {
    SCONCE_TRY(kernel.a, converted(*a.tensor, dtype, plan));
  }
  if (b.tensor) {
    SCONCE_TRY(kernel.b, converted(*b.tensor, dtype, plan));
  }
  using Form = typename Kernel::Form;
  if (!a.tensor || !b.tensor) {
    kernel.form = a.tensor ? Form::scalar_right : Form::scalar_left;
    SCONCE_TRY(kernel.scalar_bits, bits_of(a.tensor ? b.number : a.number, dtype));
  } else {
    SCONCE_DO(set_form(kernel, a.shape(), b.shape(), shape));
  }
  return kernel;
}

Result<void> arithmetic(const Side& a, const Side& b, const Shape& shape, Dtype dtype, Binary op, double alpha,
                        const Operand& y, NodePlan& plan) {
  SCONCE_TRY(auto kernel, pair_kernel<kernels::binary>(a, b, shape, dtype, plan));
  SCONCE_TRY(kernel.alpha_bits, bits_of(alpha, dtype));
  kernel.y = y;
  kernel.op = op;
  kernel.elem = dtype == Dtype::f32 ? kernels::binary::Elem::f32 : kernels::binary::Elem::i32;
  return plan.dispatch(kernel, elementwise_workgroups(shape.numel()));
}

Result<void> plan_sides(const Call& call, const Side& a, const Side& b, Binary op, double alpha, NodePlan& plan) {
  SCONCE_CHECK(a.tensor || b.tensor, "{} needs a tensor, but both of its operands are numbers.", call.node().op);
  SCONCE_TRY(Shape shape, broadcast_shape(a.shape(), b.shape()));
  SCONCE_TRY(Operand y, plan.output(0, shape));
  if (shape.numel() == 0) return {};
  const Dtype dtype = device_dtype(call.output_dtype(0));
  if (!is_byte(dtype)) return arithmetic(a, b, shape, dtype, op, alpha, y, plan);
  // Bytes are widened, computed as i32, and wrapped.
  Operand wide = plan.scratch(round_up(shape.numel() * 4, 16));
  SCONCE_DO(arithmetic(a, b, shape, Dtype::i32, op, alpha, wide, plan));
  return plan_convert(wide, Dtype::i32, y, dtype, shape.numel(), plan);
}

bool floating(const Side& side) {
  return side.tensor ? is_float(side.tensor->dtype) : side.number != std::floor(side.number);
}

}  // namespace

Result<void> plan_sum_of(const ShapedOperand& a, const ShapedOperand& b, const Operand& y, NodePlan& plan) {
  SCONCE_TRY(Shape shape, broadcast_shape(a.shape, b.shape));
  if (shape.numel() == 0) return {};
  kernels::binary kernel{.a = a.data, .b = b.data, .y = y};
  kernel.count = static_cast<uint32_t>(shape.numel());
  SCONCE_DO(set_form(kernel, a.shape, b.shape, shape));
  SCONCE_TRY(kernel.alpha_bits, bits_of(1.0, Dtype::f32));
  kernel.op = Binary::add;
  kernel.elem = kernels::binary::Elem::f32;
  return plan.dispatch(kernel, elementwise_workgroups(shape.numel()));
}

Result<void> plan_binary_op(const Call& call, NodePlan& plan, Binary op, double alpha) {
  SCONCE_TRY(Side a, read_side(call, 0));
  SCONCE_TRY(Side b, read_side(call, 1));
  return plan_sides(call, a, b, op, alpha, plan);
}

// aten.add(a, b, alpha = 1): a + alpha * b
Result<void> plan_add(const Call& call, NodePlan& plan) {
  SCONCE_TRY(double alpha, call.number_or(2, 1.0));
  return plan_binary_op(call, plan, Binary::add, alpha);
}

// aten.sub(a, b, alpha = 1): a - alpha * b
Result<void> plan_sub(const Call& call, NodePlan& plan) {
  SCONCE_TRY(double alpha, call.number_or(2, 1.0));
  return plan_binary_op(call, plan, Binary::add, -alpha);
}

// aten.rsub(a, b, alpha = 1): b - alpha * a
Result<void> plan_rsub(const Call& call, NodePlan& plan) {
  SCONCE_TRY(double alpha, call.number_or(2, 1.0));
  SCONCE_TRY(Side a, read_side(call, 0));
  SCONCE_TRY(Side b, read_side(call, 1));
  return plan_sides(call, b, a, Binary::add, -alpha, plan);
}

// aten.div.Tensor_mode(a, b, rounding_mode: None | "floor" | "trunc")
Result<void> plan_div_mode(const Call& call, NodePlan& plan) {
  if (call.is_null(2)) return plan_binary_op(call, plan, Binary::div, 1.0);
  SCONCE_TRY(std::string_view mode, call.text(2));
  if (mode == "floor") return plan_floor_divide(call, plan);
  SCONCE_CHECK(mode == "trunc", "div rounds by \"floor\" or \"trunc\", not \"{}\".", mode);
  return plan_binary_op(call, plan, is_float(call.output_dtype(0)) ? Binary::trunc_divide : Binary::div, 1.0);
}

Result<void> plan_floor_divide(const Call& call, NodePlan& plan) {
  const bool real = is_float(call.output_dtype(0));
  return plan_binary_op(call, plan, real ? Binary::floor_divide : Binary::floor_divide_int, 1.0);
}

Result<void> plan_pow(const Call& call, NodePlan& plan) {
  return plan_binary_op(call, plan, is_float(call.output_dtype(0)) ? Binary::pow : Binary::pow_int, 1.0);
}

Result<void> plan_compare_op(const Call& call, NodePlan& plan, Compare op) {
  SCONCE_TRY(Side a, read_side(call, 0));
  SCONCE_TRY(Side b, read_side(call, 1));
  SCONCE_TRY(Shape shape, broadcast_shape(a.shape(), b.shape()));
  SCONCE_TRY(Operand y, plan.output(0, shape));
  if (shape.numel() == 0) return {};
  const Dtype dtype = floating(a) || floating(b) ? Dtype::f32 : Dtype::i32;
  SCONCE_TRY(auto kernel, pair_kernel<kernels::compare>(a, b, shape, dtype, plan));
  kernel.y = y;
  kernel.op = op;
  kernel.elem = dtype == Dtype::f32 ? kernels::compare::Elem::f32 : kernels::compare::Elem::i32;
  return plan.dispatch(kernel, elementwise_workgroups(shape.numel()));
}

namespace {

Result<void> plan_logical_sides(Side a, Side b, Logical op, NodePlan& plan) {
  a.number = a.number != 0.0;
  b.number = b.number != 0.0;
  SCONCE_TRY(Shape shape, broadcast_shape(a.shape(), b.shape()));
  SCONCE_TRY(Operand y, plan.output(0, shape));
  if (shape.numel() == 0) return {};
  SCONCE_TRY(auto kernel, pair_kernel<kernels::logical>(a, b, shape, Dtype::boolean, plan));
  kernel.y = y;
  kernel.op = op;
  return plan.dispatch(kernel, elementwise_workgroups(shape.numel()));
}

}  // namespace

Result<void> plan_logical_op(const Call& call, NodePlan& plan, Logical op) {
  SCONCE_TRY(Side a, read_side(call, 0));
  SCONCE_TRY(Side b, read_side(call, 1));
  return plan_logical_sides(a, b, op, plan);
}

Result<void> plan_logical_not(const Call& call, NodePlan& plan) {
  SCONCE_TRY(Side a, read_side(call, 0));
  return plan_logical_sides(a, Side{std::nullopt, 1.0}, Logical::differ, plan);
}

Result<void> plan_bitwise_not(const Call& call, NodePlan& plan) {
  if (call.output_dtype(0) == Dtype::boolean) return plan_logical_not(call, plan);
  SCONCE_TRY(Side a, read_side(call, 0));
  return plan_sides(call, a, Side{std::nullopt, -1.0}, Binary::bit_xor, 1.0, plan);
}

}  // namespace sconce::ops
