#include "ops/symint/symint.h"

#include <algorithm>

namespace sconce::ops {
namespace {

// Rounds toward minus infinity, as Python does. b is not 0.
int64_t floor_divide(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// The SymInt is element `flat` of an integer tensor: at once if the host knows the contents, else after the GPU made
// them.
Result<void> plan_element(const Call& call, NodePlan& plan, const TensorArg& x, uint64_t flat) {
  auto contents = call.host_integers(0);
  if (!contents) return plan.wait_for_host(x.id);
  SCONCE_CHECK(flat < contents->size(), "Element {} is to be read from the {} of shape {}.", flat, contents->size(),
               x.shape);
  return plan.symint((*contents)[flat]);
}

}  // namespace

// add, sub, mul, floordiv and so on: (a, b), each an Int or a SymInt
Result<void> plan_symint_op(const Call& call, NodePlan& plan, SymIntOp op) {
  SCONCE_TRY(int64_t a, call.integer(0));
  SCONCE_TRY(int64_t b, call.integer(1));
  // Operands of 32 bits cannot overflow 64.
  auto fits = [](int64_t v) { return v >= INT32_MIN && v <= INT32_MAX; };
  SCONCE_CHECK(fits(a) && fits(b), "{} computes with {} and {}, but SymInts have 32 bits.", call.node().op, a, b);
  const bool divides = op == SymIntOp::floordiv || op == SymIntOp::mod;
  SCONCE_CHECK(!divides || b != 0, "{} divides {} by zero.", call.node().op, a);
  switch (op) {
    case SymIntOp::add:
      return plan.symint(a + b);
    case SymIntOp::sub:
      return plan.symint(a - b);
    case SymIntOp::mul:
      return plan.symint(a * b);
    case SymIntOp::floordiv:
      return plan.symint(floor_divide(a, b));
    case SymIntOp::mod:
      return plan.symint(a - b * floor_divide(a, b));
    case SymIntOp::min:
      return plan.symint(std::min(a, b));
    case SymIntOp::max:
      return plan.symint(std::max(a, b));
    case SymIntOp::eq:
      return plan.symint(a == b);
    case SymIntOp::ne:
      return plan.symint(a != b);
    case SymIntOp::lt:
      return plan.symint(a < b);
    case SymIntOp::le:
      return plan.symint(a <= b);
    case SymIntOp::gt:
      return plan.symint(a > b);
    case SymIntOp::ge:
      return plan.symint(a >= b);
  }
  return fail(ErrorCode::internal, "SymInt operator {} is unknown.", static_cast<int>(op));
}

Result<void> plan_symint_neg(const Call& call, NodePlan& plan) {
  SCONCE_TRY(int64_t a, call.integer(0));
  SCONCE_CHECK(a >= INT32_MIN && a <= INT32_MAX, "neg computes with {}, but SymInts have 32 bits.", a);
  return plan.symint(-a);
}

// sym_size.int(x, dim): a live dim
Result<void> plan_sym_size(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_TRY(int64_t dim_argument, call.integer(1));
  SCONCE_CHECK(x.rank() > 0, "sym_size needs a tensor with dims, but its input is a scalar.");
  SCONCE_TRY(size_t dim, normalize_dim(dim_argument, x.rank()));
  return plan.symint(x.shape[dim]);
}

// et_vk.select_as_symint(x, dim, index): the one element of x at an index of a dim
Result<void> plan_select_as_symint(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_TRY(int64_t dim_argument, call.integer(1));
  SCONCE_TRY(int64_t index, call.integer(2));
  SCONCE_CHECK(x.rank() > 0, "select_as_symint needs a tensor with dims, but its input is a scalar.");
  SCONCE_TRY(size_t dim, normalize_dim(dim_argument, x.rank()));
  const int64_t size = x.shape[dim];
  SCONCE_CHECK(index >= -size && index < size, "Index {} is outside dim {} of shape {}.", index, dim, x.shape);
  SCONCE_CHECK(x.numel() == static_cast<uint64_t>(size), "select_as_symint finds more than one element in shape {}.",
               x.shape);
  return plan_element(call, plan, x, static_cast<uint64_t>(index < 0 ? index + size : index));
}

// aten._local_scalar_dense(x): the one element of x
Result<void> plan_local_scalar_dense(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_CHECK(x.numel() == 1, "_local_scalar_dense reads one element, but its input has shape {}.", x.shape);
  return plan_element(call, plan, x, 0);
}

}  // namespace sconce::ops
