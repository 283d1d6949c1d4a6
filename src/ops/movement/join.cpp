// Operators that put tensors side by side, or into a frame.
#include <algorithm>

#include "ops/movement/movement.h"
#include "ops/movement/strided_copy.h"
#include "ops/shared/elements.h"

namespace sconce::ops {

// aten.cat(tensors, dim = 0). Tensors of shape [0] are left out, as in torch.
Result<void> plan_cat(const Call& call, NodePlan& plan) {
  SCONCE_TRY(auto tensors, call.tensors(0));
  SCONCE_TRY(int64_t dim_argument, call.integer_or(1, 0));
  std::erase_if(tensors, [](const TensorArg& t) { return t.rank() == 1 && t.shape[0] == 0; });
  if (tensors.empty()) {
    SCONCE_DO(plan.output(0, Shape{0}));
    return {};
  }
  Shape shape = tensors[0].shape;
  SCONCE_TRY(size_t dim, normalize_dim(dim_argument, shape.rank()));
  SCONCE_CHECK(shape.rank() > 0, "cat needs tensors with dims, but the first one is a scalar.");
  for (size_t i = 1; i < tensors.size(); ++i) {
    const Shape& other = tensors[i].shape;
    bool fits = other.rank() == shape.rank();
    for (size_t d = 0; fits && d < shape.rank(); ++d) fits = d == dim || other[d] == shape[d];
    SCONCE_CHECK(fits, "Shapes {} and {} differ outside dim {}, along which cat joins them.", shape, other, dim);
    shape[dim] += other[dim];
  }
  SCONCE_TRY(Operand y, plan.output(0, shape));
  const Strides to = row_major_strides(shape);
  int64_t start = 0;
  for (const TensorArg& x : tensors) {
    SCONCE_CHECK(device_dtype(x.dtype) == device_dtype(call.output_dtype(0)), "cat joins {} into {}.", x.dtype,
                 call.output_dtype(0));
    const Strides from = row_major_strides(x.shape);
    StridedCopy copy{.from = x, .to = y, .to_offset = start * to[dim], .element_bytes = x.device_size()};
    for (size_t d = 0; d < shape.rank(); ++d) copy.box.add(x.shape[d], from[d], to[d]);
    SCONCE_DO(plan_strided_copy(copy, plan));
    start += x.shape[dim];
  }
  return {};
}

// aten.constant_pad_nd(x, pad, value = 0): pad holds (before, after) of the last dim, then of the one before it, ...; a
// negative number cuts off.
Result<void> plan_constant_pad(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_TRY(auto pad, call.integers(1));
  SCONCE_TRY(double value, call.number_or(2, 0.0));
  SCONCE_CHECK(pad.size() % 2 == 0 && pad.size() <= 2 * x.rank(), "{} padding numbers do not go with shape {}.",
               pad.size(), x.shape);
  Shape shape = x.shape;
  Shape kept = x.shape;  // what remains of x
  std::array<int64_t, Shape::kMaxRank> before = {};
  for (size_t k = 0; k < pad.size() / 2; ++k) {
    const size_t d = x.rank() - 1 - k;
    before[d] = pad[2 * k];
    const int64_t after = pad[2 * k + 1];
    shape[d] = x.shape[d] + before[d] + after;
    SCONCE_CHECK(shape[d] >= 0, "Padding by {} and {} leaves nothing of the {} in dim {}.", before[d], after,
                 x.shape[d], d);
    kept[d] = std::max<int64_t>(0, x.shape[d] + std::min<int64_t>(0, before[d]) + std::min<int64_t>(0, after));
  }
  SCONCE_TRY(Operand y, plan.output(0, shape));
  if (kept.numel() < shape.numel()) SCONCE_DO(plan_fill(y, call.output_dtype(0), shape.numel(), value, plan));
  const Strides from = row_major_strides(x.shape), to = row_major_strides(shape);
  StridedCopy copy{.from = x, .to = y, .element_bytes = x.device_size()};
  for (size_t d = 0; d < shape.rank(); ++d) {
    copy.from_offset += std::max<int64_t>(0, -before[d]) * from[d];
    copy.to_offset += std::max<int64_t>(0, before[d]) * to[d];
    copy.box.add(kept[d], from[d], to[d]);
  }
  return plan_strided_copy(copy, plan);
}

}  // namespace sconce::ops
