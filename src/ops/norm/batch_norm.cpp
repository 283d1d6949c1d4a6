#include "kernels.h"
#include "ops/norm/norm.h"
#include "ops/shared/elements.h"

namespace sconce::ops {

// aten._native_batch_norm_legit_no_training(x [N, C, ...], weight?, bias?, mean [C], variance [C], momentum, eps)
//   -> y, and two outputs without elements
Result<void> plan_batch_norm(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0, Dtype::f32));
  SCONCE_TRY(auto weight, call.optional_tensor(1, Dtype::f32));
  SCONCE_TRY(auto bias, call.optional_tensor(2, Dtype::f32));
  SCONCE_TRY(TensorArg mean, call.tensor(3, Dtype::f32));
  SCONCE_TRY(TensorArg variance, call.tensor(4, Dtype::f32));
  SCONCE_TRY(double eps, call.number(6));
  SCONCE_CHECK(x.rank() >= 2, "A batch norm needs channels, but its input has shape {}.", x.shape);
  const Shape channels = {x.shape[1]};
  for (const auto& operand : {weight, bias, std::optional(mean), std::optional(variance)})
    SCONCE_CHECK(!operand || operand->shape == channels, "An operand of shape {} does not go with {} channels.",
                 operand->shape, x.shape[1]);
  SCONCE_TRY(Operand y, plan.output(0, x.shape));
  for (size_t i = 1; i < plan.output_count(); ++i) SCONCE_DO(plan.output(i, Shape{0}));
  uint64_t inner = 1;
  for (size_t d = 2; d < x.rank(); ++d) inner *= static_cast<uint64_t>(x.shape[d]);
  return plan.dispatch(kernels::batch_norm{.x = x,
                                           .weight = weight ? Operand(*weight) : Operand{},
                                           .bias = bias ? Operand(*bias) : Operand{},
                                           .mean = mean,
                                           .variance = variance,
                                           .y = y,
                                           .count = static_cast<uint32_t>(x.numel()),
                                           .channels = static_cast<uint32_t>(x.shape[1]),
                                           .inner = static_cast<uint32_t>(inner),
                                           .eps = static_cast<float>(eps),
                                           .has_weight = weight.has_value(),
                                           .has_bias = bias.has_value()},
                       div_ceil(x.numel(), kElementwiseInvocations));
}

}  // namespace sconce::ops
