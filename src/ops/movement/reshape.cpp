// Operators whose output holds the input's bytes under another shape.
#include <algorithm>

#include "ops/movement/movement.h"

namespace sconce::ops {

Result<Shape> view_shape(const Call& call, size_t i, uint64_t count) {
  SCONCE_TRY(auto sizes, call.integers(i));
  uint64_t known = 1;
  int64_t* inferred = nullptr;
  for (int64_t& size : sizes) {
    if (size == -1) {
      SCONCE_CHECK(inferred == nullptr, "A view has two sizes of -1; only one can be inferred.");
      inferred = &size;
    } else {
      SCONCE_CHECK(size >= 0, "A view has a size of {}.", size);
      known *= static_cast<uint64_t>(size);
    }
  }
  if (inferred != nullptr) {
    SCONCE_CHECK(known != 0 && count % known == 0, "A view of {} elements cannot have rows of {} elements.", count,
                 known);
    *inferred = static_cast<int64_t>(count / known);
  }
  SCONCE_TRY(Shape shape, Shape::from(sizes));
  SCONCE_CHECK(shape.numel() == count, "A view turns {} elements into shape {}, which holds {}.", count, shape,
               shape.numel());
  return shape;
}

// aten.view_copy(x, sizes): one size may be -1. The live shape is what the sizes say, with their SymInts; a size that
// the exporter froze at its upper bound is an error at any other length, as in torch.
Result<void> plan_view(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_TRY(Shape shape, view_shape(call, 1, x.numel()));
  return plan.reinterpret(0, shape, x);
}

// aten.clone(x, ...), aten.alias_copy(x)
Result<void> plan_clone(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  return plan.reinterpret(0, x.shape, x);
}

// aten.squeeze_copy.dims(x, dims), .dim(x, dim): drops those dims whose size is 1. The rank is fixed when the program
// is exported, so the upper bound decides.
Result<void> plan_squeeze(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_TRY(auto dims, call.integers(1));
  std::array<bool, Shape::kMaxRank> dropped = {};
  for (int64_t dim : dims) {
    SCONCE_TRY(size_t d, normalize_dim(dim, x.rank()));
    dropped[d] = x.rank() > 0 && x.bound[d] == 1;
  }
  Shape shape;
  for (size_t d = 0; d < x.rank(); ++d)
    if (!dropped[d]) shape.push_back(x.shape[d]);
  return plan.reinterpret(0, shape, x);
}

// aten.unsqueeze_copy(x, dim): a dim of size 1 before dim
Result<void> plan_unsqueeze(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_TRY(int64_t dim, call.integer(1));
  SCONCE_CHECK(x.rank() < Shape::kMaxRank, "A tensor of {} dims takes no further one.", x.rank());
  SCONCE_TRY(size_t at, normalize_dim(dim, x.rank() + 1));
  Shape shape;
  for (size_t d = 0; d <= x.rank(); ++d) shape.push_back(d == at ? 1 : x.shape[d < at ? d : d - 1]);
  return plan.reinterpret(0, shape, x);
}

}  // namespace sconce::ops
