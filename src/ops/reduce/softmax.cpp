#include "ops/reduce/reduce.h"

namespace sconce::ops {
namespace {

Result<void> plan_softmax_lines(const Call& call, NodePlan& plan, bool logarithm) {
  SCONCE_TRY(TensorArg x, call.tensor(0, Dtype::f32));
  SCONCE_TRY(int64_t dim_argument, call.integer(1));
  SCONCE_TRY(size_t dim, normalize_dim(dim_argument, x.rank()));
  SCONCE_TRY(Operand y, plan.output(0, x.shape));
  if (x.numel() == 0) return {};
  uint64_t inner = 1;
  for (size_t d = dim + 1; d < x.rank(); ++d) inner *= static_cast<uint64_t>(x.shape[d]);
  const uint64_t length = x.rank() == 0 ? 1 : static_cast<uint64_t>(x.shape[dim]);
  const uint64_t lines = x.numel() / length;
  const bool shared = share_lines(call.capabilities(), lines, length, static_cast<int64_t>(inner));
  return plan.dispatch(kernels::softmax{.x = x,
                                        .y = y,
                                        .lines = static_cast<uint32_t>(lines),
                                        .length = static_cast<uint32_t>(length),
                                        .inner = static_cast<uint32_t>(inner),
                                        .logarithm = logarithm,
                                        .lanes = shared ? 64u : 1u},
                       shared ? lines : div_ceil(lines, 64));
}

}  // namespace

// aten._softmax(x, dim, half_to_float)
Result<void> plan_softmax(const Call& call, NodePlan& plan) {
  return plan_softmax_lines(call, plan, false);
}

// aten._log_softmax(x, dim, half_to_float)
Result<void> plan_log_softmax(const Call& call, NodePlan& plan) {
  return plan_softmax_lines(call, plan, true);
}

}  // namespace sconce::ops
