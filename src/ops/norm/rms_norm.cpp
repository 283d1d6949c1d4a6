#include <limits>

#include "kernels.h"
#include "ops/norm/norm.h"

namespace sconce::ops {

// et_vk.rms_norm(x [..., W], weight [W], eps) -> y, shaped like x: y = x / sqrt(mean(x^2 over W) + eps) * weight
Result<void> plan_rms_norm(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0, Dtype::f32));
  SCONCE_TRY(TensorArg weight, call.tensor(1, Dtype::f32));
  SCONCE_TRY(double eps, call.number_or(2, std::numeric_limits<float>::epsilon()));
  SCONCE_CHECK(x.rank() >= 1, "rms_norm needs rows to work on, but its input is a scalar.");
  SCONCE_CHECK(weight.shape == Shape{x.shape.back()}, "The weight has shape {} but the rows have {} elements.",
               weight.shape, x.shape.back());
  SCONCE_TRY(Operand y, plan.output(0, x.shape));
  const uint64_t width = x.shape.back();
  const uint64_t rows = width == 0 ? 0 : x.numel() / width;
  // Each invocation of a shared row should have several vectors to sum between the barriers.
  const bool divided = call.capabilities().adapter_class != record::AdapterClass::software;
  return plan.dispatch(kernels::rms_norm{.x = x,
                                         .weight = weight,
                                         .y = y,
                                         .rows = static_cast<uint32_t>(rows),
                                         .width = static_cast<uint32_t>(width),
                                         .eps = static_cast<float>(eps),
                                         .divided = divided,
                                         .vectors = width % 4 == 0,
                                         .lanes = !divided        ? 8u
                                                  : width >= 4096 ? 256u
                                                                  : 64u},
                       rows);
}

}  // namespace sconce::ops
