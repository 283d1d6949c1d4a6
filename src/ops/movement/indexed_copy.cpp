// Operators that take elements from places that index tensors name.
#include <algorithm>

#include "kernels.h"
#include "ops/movement/movement.h"
#include "ops/shared/elements.h"
#include "ops/shared/strides.h"

namespace sconce::ops {
namespace {

// An indexed copy into output 0: the strides of x and of the index along each dim of the output.
struct IndexedCopy {
  TensorArg x;
  Operand index;
  Shape shape;
  Strides x_strides = {}, index_strides = {};
  int64_t index_size = 0, index_step = 0;
};

Result<void> plan_indexed_copy(const IndexedCopy& copy, NodePlan& plan) {
  SCONCE_TRY(Operand y, plan.output(0, copy.shape));
  const uint64_t count = copy.shape.numel();
  if (count == 0) return {};
  SCONCE_CHECK(copy.index_size > 0, "An index cannot name a place in an empty dim of shape {}.", copy.x.shape);
  StridedBox box;
  for (size_t d = 0; d < copy.shape.rank(); ++d) box.add(copy.shape[d], copy.x_strides[d], copy.index_strides[d]);
  const bool bytes = is_byte(copy.x.dtype);  // widened to words and narrowed again
  kernels::indexed_copy kernel;
  SCONCE_TRY(kernel.x, converted(copy.x, bytes ? Dtype::i32 : copy.x.dtype, plan));
  kernel.index = copy.index;
  kernel.y = bytes ? plan.scratch(round_up(count * 4, 16)) : y;
  kernel.count = static_cast<uint32_t>(count);
  kernel.rank = box.rank();
  kernel.index_size = static_cast<int32_t>(copy.index_size);
  kernel.index_step = static_cast<uint32_t>(copy.index_step);
  SCONCE_TRY(kernel.dims, box.dims<8>());
  SCONCE_DO(plan.dispatch(kernel, div_ceil(count, kElementwiseInvocations)));
  return bytes ? plan_convert(kernel.y, Dtype::i32, y, copy.x.dtype, count, plan) : Result<void>{};
}

// The index tensors of aten.index.Tensor with the dims of x that they stand for.
struct Indices {
  std::vector<TensorArg> tensors;
  std::vector<size_t> dims;
  Shape shape;  // that they broadcast to
};

Result<Indices> read_indices(const Call& call, size_t i, const TensorArg& x) {
  Indices indices;
  SCONCE_TRY(auto all, call.optional_tensors(i));
  SCONCE_CHECK(all.size() <= x.rank(), "{} index tensors do not go with shape {}.", all.size(), x.shape);
  for (size_t d = 0; d < all.size(); ++d) {
    if (!all[d]) continue;
    if (device_dtype(all[d]->dtype) != Dtype::i32)
      return fail(ErrorCode::unsupported, "Index tensor {} holds {}; only integers name places.", d, all[d]->dtype);
    SCONCE_TRY(indices.shape, broadcast_shape(indices.shape, all[d]->shape));
    indices.tensors.push_back(*all[d]);
    indices.dims.push_back(d);
  }
  SCONCE_CHECK(!indices.tensors.empty(), "aten.index.Tensor needs an index tensor, but all are absent.");
  return indices;
}

// One index of element offsets in x, made of all index tensors.
Result<Operand> combine(const Indices& indices, const TensorArg& x, NodePlan& plan) {
  const Strides x_strides = row_major_strides(x.shape);
  const uint64_t count = indices.shape.numel();
  const Operand sum = plan.scratch(round_up(count * 4, 16));
  for (size_t k = 0; k < indices.tensors.size(); ++k) {
    const Strides strides = broadcast_strides(indices.tensors[k].shape, indices.shape);
    StridedBox box;
    for (size_t d = 0; d < indices.shape.rank(); ++d) box.add(indices.shape[d], strides[d]);
    kernels::combine_indices kernel{.index = indices.tensors[k],
                                    .sum = sum,
                                    .count = static_cast<uint32_t>(count),
                                    .rank = box.rank(),
                                    .index_size = static_cast<int32_t>(x.shape[indices.dims[k]]),
                                    .index_step = static_cast<int32_t>(x_strides[indices.dims[k]]),
                                    .first = k == 0};
    SCONCE_TRY(kernel.dims, box.dims<8>());
    SCONCE_DO(plan.dispatch(kernel, div_ceil(count, kElementwiseInvocations)));
  }
  return sum;
}

}  // namespace

// aten.gather(x, dim, index): y is shaped like index; its coordinate in dim comes from index
Result<void> plan_gather(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_TRY(int64_t dim_argument, call.integer(1));
  SCONCE_TRY(TensorArg index, call.tensor(2, Dtype::i32));
  SCONCE_TRY(size_t dim, normalize_dim(dim_argument, x.rank()));
  SCONCE_CHECK(x.rank() == index.rank(), "gather takes an index of shape {} from a tensor of shape {}; ranks differ.",
               index.shape, x.shape);
  for (size_t d = 0; d < x.rank(); ++d)
    SCONCE_CHECK(d == dim || index.shape[d] <= x.shape[d], "The index of shape {} passes shape {} in dim {}.",
                 index.shape, x.shape, d);
  IndexedCopy copy{.x = x,
                   .index = index,
                   .shape = index.shape,
                   .x_strides = row_major_strides(x.shape),
                   .index_strides = row_major_strides(index.shape)};
  copy.index_size = x.rank() == 0 ? 1 : x.shape[dim];
  copy.index_step = copy.x_strides[dim];
  copy.x_strides[dim] = 0;
  return plan_indexed_copy(copy, plan);
}

// aten.index_select(x, dim, index [n]): the rows of dim that index names
Result<void> plan_index_select(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_TRY(int64_t dim_argument, call.integer(1));
  SCONCE_TRY(TensorArg index, call.tensor(2, Dtype::i32));
  SCONCE_TRY(size_t dim, normalize_dim(dim_argument, x.rank()));
  SCONCE_CHECK(x.rank() > 0 && index.rank() <= 1, "index_select takes a vector of places, but the index has shape {}.",
               index.shape);
  IndexedCopy copy{.x = x, .index = index, .shape = x.shape, .x_strides = row_major_strides(x.shape)};
  copy.shape[dim] = static_cast<int64_t>(index.numel());
  copy.index_strides[dim] = 1;
  copy.index_size = x.shape[dim];
  copy.index_step = copy.x_strides[dim];
  copy.x_strides[dim] = 0;
  return plan_indexed_copy(copy, plan);
}

// aten.index.Tensor(x, indices): index tensors, some absent, broadcast together. Their dims stand where the indexed
// dims of x were if those are neighbours, else in front.
Result<void> plan_index(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_TRY(Indices indices, read_indices(call, 1, x));
  const bool neighbours = indices.dims.back() - indices.dims.front() + 1 == indices.dims.size();
  const size_t place = neighbours ? indices.dims.front() : 0;
  const size_t rank = x.rank() - indices.dims.size() + indices.shape.rank();
  SCONCE_CHECK(rank <= Shape::kMaxRank, "Indexing shape {} makes {} dims; at most {} are allowed.", x.shape, rank,
               Shape::kMaxRank);

  IndexedCopy copy{.x = x};
  const Strides x_strides = row_major_strides(x.shape), index_strides = row_major_strides(indices.shape);
  auto add_index_dims = [&] {
    for (size_t d = 0; d < indices.shape.rank(); ++d) {
      copy.index_strides[copy.shape.rank()] = index_strides[d];
      copy.shape.push_back(indices.shape[d]);
    }
  };
  if (place == 0) add_index_dims();
  for (size_t d = 0; d < x.rank(); ++d) {
    if (std::ranges::find(indices.dims, d) == indices.dims.end()) {
      copy.x_strides[copy.shape.rank()] = x_strides[d];
      copy.shape.push_back(x.shape[d]);
    } else if (d == place && place > 0) {
      add_index_dims();
    }
  }
  if (copy.shape.numel() == 0) return plan_indexed_copy(copy, plan);
  if (indices.tensors.size() == 1) {
    copy.index = indices.tensors[0];
    copy.index_size = x.shape[indices.dims[0]];
    copy.index_step = x_strides[indices.dims[0]];
  } else {
    SCONCE_TRY(copy.index, combine(indices, x, plan));
    copy.index_size = static_cast<int64_t>(x.numel());
    copy.index_step = 1;
  }
  return plan_indexed_copy(copy, plan);
}

}  // namespace sconce::ops
