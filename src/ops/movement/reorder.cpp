// Operators that copy all elements into another order, or several times.
#include <algorithm>

#include "ops/movement/movement.h"
#include "ops/movement/strided_copy.h"

namespace sconce::ops {
namespace {

// Dim d of the output is dim order[d] of x.
Result<void> plan_order(const TensorArg& x, std::span<const size_t> order, NodePlan& plan) {
  const Strides own = row_major_strides(x.shape);
  Shape shape;
  Strides strides = {};
  for (size_t d : order) {
    strides[shape.rank()] = own[d];
    shape.push_back(x.shape[d]);
  }
  return plan_strided_view(x, 0, shape, 0, strides, plan);
}

}  // namespace

// aten.permute_copy(x, dims)
Result<void> plan_permute(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_TRY(auto dims, call.integers(1));
  SCONCE_CHECK(dims.size() == x.rank(), "A permutation of {} dims does not go with shape {}.", dims.size(), x.shape);
  std::vector<size_t> order;
  for (int64_t dim : dims) {
    SCONCE_TRY(size_t d, normalize_dim(dim, x.rank()));
    SCONCE_CHECK(std::ranges::find(order, d) == order.end(), "A permutation names dim {} twice.", d);
    order.push_back(d);
  }
  return plan_order(x, order, plan);
}

// aten.transpose_copy.int(x, dim0, dim1)
Result<void> plan_transpose(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_TRY(int64_t dim0, call.integer(1));
  SCONCE_TRY(int64_t dim1, call.integer(2));
  std::vector<size_t> order;
  for (size_t d = 0; d < x.rank(); ++d) order.push_back(d);
  SCONCE_TRY(size_t a, normalize_dim(dim0, x.rank()));
  SCONCE_TRY(size_t b, normalize_dim(dim1, x.rank()));
  if (x.rank() > 0) std::swap(order[a], order[b]);
  return plan_order(x, order, plan);
}

// aten.t_copy(x): a matrix transposed; a vector or a scalar as it is
Result<void> plan_t(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_CHECK(x.rank() <= 2, "t takes at most two dims, but its input has shape {}.", x.shape);
  std::vector<size_t> order;
  for (size_t d = x.rank(); d-- > 0;) order.push_back(d);
  return plan_order(x, order, plan);
}

// aten.expand_copy(x, sizes): dims of size 1 repeat; -1 keeps a dim; sizes may name more dims, in front
Result<void> plan_expand(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_TRY(auto sizes, call.integers(1));
  SCONCE_CHECK(sizes.size() >= x.rank(), "Shape {} does not expand to {} dims.", x.shape, sizes.size());
  const size_t added = sizes.size() - x.rank();
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == -1 && d >= added) sizes[d] = x.shape[d - added];
    SCONCE_CHECK(d < added || x.shape[d - added] == 1 || x.shape[d - added] == sizes[d],
                 "Dim {} of shape {} does not expand to {}.", d - added, x.shape, sizes[d]);
  }
  SCONCE_TRY(Shape shape, Shape::from(sizes));
  return plan_strided_view(x, 0, shape, 0, broadcast_strides(x.shape, shape), plan);
}

// aten.repeat(x, repeats): the whole tensor repeats[d] times along dim d; repeats may name more dims, in front
Result<void> plan_repeat(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_TRY(auto repeats, call.integers(1));
  SCONCE_CHECK(repeats.size() >= x.rank(), "{} repeats do not go with shape {}.", repeats.size(), x.shape);
  const size_t added = repeats.size() - x.rank();
  std::vector<int64_t> sizes(repeats.size());
  for (size_t d = 0; d < sizes.size(); ++d) {
    SCONCE_CHECK(repeats[d] >= 0, "Dim {} is to be repeated {} times.", d, repeats[d]);
    sizes[d] = repeats[d] * (d < added ? 1 : x.shape[d - added]);
  }
  SCONCE_TRY(Shape shape, Shape::from(sizes));
  SCONCE_TRY(Operand y, plan.output(0, shape));
  const Strides from = row_major_strides(x.shape), to = row_major_strides(shape);
  StridedCopy copy{.from = x, .to = y, .element_bytes = x.device_size()};
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int64_t own = d < added ? 1 : x.shape[d - added];
    copy.box.add(repeats[d], 0, own * to[d]);
    copy.box.add(own, d < added ? 0 : from[d - added], to[d]);
  }
  return plan_strided_copy(copy, plan);
}

// aten.flip(x, dims)
Result<void> plan_flip(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_TRY(auto dims, call.integers(1));
  Strides strides = row_major_strides(x.shape);
  int64_t offset = 0;
  for (int64_t dim : dims) {
    SCONCE_TRY(size_t d, normalize_dim(dim, x.rank()));
    SCONCE_CHECK(strides[d] >= 0, "flip names dim {} twice.", d);
    if (x.rank() == 0) continue;
    offset += (x.shape[d] - 1) * strides[d];
    strides[d] = -strides[d];
  }
  return plan_strided_view(x, 0, x.shape, offset, strides, plan);
}

// aten.pixel_shuffle(x [..., C * r * r, H, W], r) -> [..., C, H * r, W * r]
Result<void> plan_pixel_shuffle(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_TRY(int64_t r, call.integer(1));
  SCONCE_CHECK(x.rank() >= 3 && r > 0 && x.shape[x.rank() - 3] % (r * r) == 0,
               "pixel_shuffle by {} needs channels that {} divides, but its input has shape {}.", r, r * r, x.shape);
  const size_t c = x.rank() - 3, h = c + 1, w = c + 2;
  Shape shape = x.shape;
  shape[c] /= r * r;
  shape[h] *= r;
  shape[w] *= r;
  SCONCE_TRY(Operand y, plan.output(0, shape));
  const Strides from = row_major_strides(x.shape), to = row_major_strides(shape);
  StridedCopy copy{.from = x, .to = y, .element_bytes = x.device_size()};
  for (size_t d = 0; d < c; ++d) copy.box.add(shape[d], from[d], to[d]);
  copy.box.add(shape[c], r * r * from[c], to[c]);
  copy.box.add(x.shape[h], from[h], r * to[h]);
  copy.box.add(r, r * from[c], to[h]);
  copy.box.add(x.shape[w], from[w], r);
  copy.box.add(r, from[c], 1);
  return plan_strided_copy(copy, plan);
}

}  // namespace sconce::ops
