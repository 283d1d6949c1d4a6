#include "ops/movement/movement.h"

namespace sconce::ops {

// aten.copy_.default(self, src, non_blocking) -> self: writes src into self, a tensor that outlives the call (a mutable
// buffer). Where an operator has written the cache in place already, both are one buffer and nothing is copied.
Result<void> plan_copy_in_place(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg self, call.tensor(0));
  SCONCE_TRY(TensorArg source, call.tensor(1, self.dtype));
  SCONCE_CHECK(self.shape == source.shape, "A tensor of shape {} is copied into one of shape {}.", source.shape,
               self.shape);
  SCONCE_TRY(Operand out, plan.output(0, self.shape));
  const uint64_t bytes = round_up(out.bytes, 4);
  SCONCE_DO(plan.copy(source, 0, self, 0, bytes));
  return out.id == self.id ? Result<void>{} : plan.copy(source, 0, out, 0, bytes);
}

}  // namespace sconce::ops
