#include "kernels.h"
#include "ops/norm/norm.h"

namespace sconce::ops {

Result<void> plan_rms_norm_of(const Operand& x, const Operand& weight, const Operand& y, uint64_t rows, uint64_t width,
                              double eps, const record::Capabilities& device, NodePlan& plan) {
  // Each invocation of a shared row should have several vectors to sum between the barriers.
  const bool divided = device.adapter_class != record::AdapterClass::software;
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

// et_vk.rms_norm(x [..., W], weight [W], eps) -> y, shaped like x: y = x / sqrt(mean(x^2 over W) + eps) * weight
Result<void> plan_rms_norm(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0, Dtype::f32));
  SCONCE_TRY(TensorArg weight, call.tensor(1, Dtype::f32));
  SCONCE_TRY(double eps, call.number_or(2, kRmsNormEps));
  SCONCE_CHECK(x.rank() >= 1, "rms_norm needs rows to work on, but its input is a scalar.");
  SCONCE_CHECK(weight.shape == Shape{x.shape.back()}, "The weight has shape {} but the rows have {} elements.",
               weight.shape, x.shape.back());
  SCONCE_TRY(Operand y, plan.output(0, x.shape));
  const uint64_t width = x.shape.back();
  const uint64_t rows = width == 0 ? 0 : x.numel() / width;
  return plan_rms_norm_of(x, weight, y, rows, width, eps, call.capabilities(), plan);
}

}  // namespace sconce::ops
