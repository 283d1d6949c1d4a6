// Operators that copy a part of a tensor. Starts, ends and indices may be SymInts and count from the end when negative.
#include <algorithm>

#include "ops/movement/movement.h"
#include "ops/movement/strided_copy.h"

namespace sconce::ops {
namespace {

// Output i: elements [start, start + length * step) of one dim.
Result<void> plan_part(const TensorArg& x, size_t i, size_t dim, int64_t start, int64_t length, int64_t step,
                       NodePlan& plan) {
  Strides strides = row_major_strides(x.shape);
  const int64_t offset = start * strides[dim];
  strides[dim] *= step;
  Shape shape = x.shape;
  shape[dim] = length;
  return plan_strided_view(x, i, shape, offset, strides, plan);
}

// Output i: the elements at one index of a dim, without that dim.
Result<void> plan_place(const TensorArg& x, size_t i, size_t dim, int64_t index, NodePlan& plan) {
  const Strides strides = row_major_strides(x.shape);
  Shape shape;
  Strides kept = {};
  for (size_t d = 0; d < x.rank(); ++d) {
    if (d == dim) continue;
    kept[shape.rank()] = strides[d];
    shape.push_back(x.shape[d]);
  }
  return plan_strided_view(x, i, shape, index * strides[dim], kept, plan);
}

Result<size_t> dim_argument(const Call& call, size_t i, const TensorArg& x) {
  SCONCE_CHECK(x.rank() > 0, "{} needs at least one dim, but its input is a scalar.", call.node().op);
  SCONCE_TRY(int64_t dim, call.integer_or(i, 0));
  return normalize_dim(dim, x.rank());
}

}  // namespace

// aten.slice_copy.Tensor(x, dim = 0, start = None, end = None, step = 1): bounds are clamped as in Python
Result<void> plan_slice(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_TRY(size_t dim, dim_argument(call, 1, x));
  const int64_t size = x.shape[dim];
  SCONCE_TRY(int64_t start, call.integer_or(2, 0));
  SCONCE_TRY(int64_t end, call.integer_or(3, size));
  SCONCE_TRY(int64_t step, call.integer_or(4, 1));
  SCONCE_CHECK(step >= 1, "A slice has a step of {}; it must be at least 1.", step);
  auto clamped = [size](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
  start = clamped(start);
  end = std::max(start, clamped(end));
  return plan_part(x, 0, dim, start, static_cast<int64_t>(div_ceil(end - start, step)), step, plan);
}

// aten.select_copy.int(x, dim, index)
Result<void> plan_select(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_TRY(size_t dim, dim_argument(call, 1, x));
  SCONCE_TRY(int64_t index, call.integer(2));
  const int64_t size = x.shape[dim];
  SCONCE_CHECK(index >= -size && index < size, "Index {} is outside dim {} of shape {}.", index, dim, x.shape);
  return plan_place(x, 0, dim, index < 0 ? index + size : index, plan);
}

// aten.split_with_sizes_copy(x, sizes, dim = 0)
Result<void> plan_split_with_sizes(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_TRY(auto sizes, call.integers(1));
  SCONCE_TRY(size_t dim, dim_argument(call, 2, x));
  int64_t start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    SCONCE_CHECK(sizes[i] >= 0 && sizes[i] <= x.shape[dim] - start, "Part {} of a split takes {} of {} remaining.", i,
                 sizes[i], x.shape[dim] - start);
    SCONCE_DO(plan_part(x, i, dim, start, sizes[i], 1, plan));
    start += sizes[i];
  }
  SCONCE_CHECK(start == x.shape[dim], "The parts of a split sum to {}, but dim {} of shape {} is to be used up.", start,
               dim, x.shape);
  return {};
}

// aten.split_copy.Tensor(x, size, dim = 0): parts of `size`, the last one may be smaller
Result<void> plan_split(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_TRY(int64_t size, call.integer(1));
  SCONCE_TRY(size_t dim, dim_argument(call, 2, x));
  SCONCE_CHECK(size > 0, "A split has parts of {}; they must have at least 1.", size);
  const size_t parts = plan.output_count();
  for (size_t i = 0; i < parts; ++i) {
    const int64_t start = std::min<int64_t>(i * size, x.shape[dim]);
    SCONCE_DO(plan_part(x, i, dim, start, std::min(size, x.shape[dim] - start), 1, plan));
  }
  SCONCE_CHECK(static_cast<int64_t>(parts) * size >= x.shape[dim], "{} parts of {} do not cover {}.", parts, size,
               x.shape[dim]);
  return {};
}

// aten.unbind_copy.int(x, dim = 0): one output for each index
Result<void> plan_unbind(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_TRY(size_t dim, dim_argument(call, 1, x));
  SCONCE_CHECK(static_cast<int64_t>(plan.output_count()) == x.shape[dim], "unbind makes {} tensors of a dim of {}.",
               plan.output_count(), x.shape[dim]);
  for (size_t i = 0; i < plan.output_count(); ++i) SCONCE_DO(plan_place(x, i, dim, static_cast<int64_t>(i), plan));
  return {};
}

// aten.unfold_copy(x, dim, size, step): windows of `size` along dim, each a new innermost dim
Result<void> plan_unfold(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_TRY(size_t dim, dim_argument(call, 1, x));
  SCONCE_TRY(int64_t size, call.integer(2));
  SCONCE_TRY(int64_t step, call.integer(3));
  SCONCE_CHECK(size >= 0 && size <= x.shape[dim] && step >= 1, "unfold takes windows of {} every {} from a dim of {}.",
               size, step, x.shape[dim]);
  SCONCE_CHECK(x.rank() < Shape::kMaxRank, "A tensor of {} dims takes no further one.", x.rank());
  Strides strides = row_major_strides(x.shape);
  Shape shape = x.shape;
  shape[dim] = (x.shape[dim] - size) / step + 1;
  strides[x.rank()] = strides[dim];
  shape.push_back(size);
  strides[dim] *= step;
  return plan_strided_view(x, 0, shape, 0, strides, plan);
}

}  // namespace sconce::ops
