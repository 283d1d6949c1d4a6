#include "ops/elementwise/elementwise.h"
#include "ops/shared/elements.h"
#include "ops/shared/strides.h"

namespace sconce::ops {

// aten.where.self(condition, a, b): a where condition is not zero, else b; all three broadcast.
Result<void> plan_where(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg condition, call.tensor(0));
  SCONCE_TRY(TensorArg a, call.tensor(1));
  SCONCE_TRY(TensorArg b, call.tensor(2));
  SCONCE_TRY(Shape both, broadcast_shape(a.shape, b.shape));
  SCONCE_TRY(Shape shape, broadcast_shape(condition.shape, both));
  SCONCE_TRY(Operand y, plan.output(0, shape));
  const uint64_t count = shape.numel();
  if (count == 0) return {};

  // The kernel selects words: bytes are widened to i32 and narrowed again.
  const Dtype dtype = device_dtype(call.output_dtype(0));
  const Dtype words = is_byte(dtype) ? Dtype::i32 : dtype;
  kernels::where kernel;
  SCONCE_TRY(kernel.condition, converted(condition, Dtype::boolean, plan));
  SCONCE_TRY(kernel.a, converted(a, words, plan));
  SCONCE_TRY(kernel.b, converted(b, words, plan));
  kernel.y = is_byte(dtype) ? plan.scratch(round_up(count * 4, 16)) : y;
  kernel.count = static_cast<uint32_t>(count);
  kernel.dense = condition.numel() == count && a.numel() == count && b.numel() == count;
  if (!kernel.dense) {
    const Strides strides[] = {broadcast_strides(condition.shape, shape), broadcast_strides(a.shape, shape),
                               broadcast_strides(b.shape, shape)};
    StridedBox box;
    for (size_t d = 0; d < shape.rank(); ++d) box.add(shape[d], strides[0][d], strides[1][d], strides[2][d]);
    kernel.rank = box.rank();
    SCONCE_TRY(kernel.dims, box.dims<8>());
  }
  SCONCE_DO(plan.dispatch(kernel, elementwise_workgroups(count)));
  return is_byte(dtype) ? plan_convert(kernel.y, Dtype::i32, y, dtype, count, plan) : Result<void>{};
}

}  // namespace sconce::ops
