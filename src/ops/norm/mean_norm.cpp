// Norms that subtract the mean of a row: layer norm and group norm.
#include <fmt/ranges.h>

#include <algorithm>

#include "kernels.h"
#include "ops/norm/norm.h"

namespace sconce::ops {
namespace {

// Rows of x that are normalised, and which channel of weight and bias an element has (mean_norm.wgsl).
struct Rows {
  uint64_t rows = 0, width = 0, groups = 1, inner = 1;
};

Result<void> plan_rows(const Call& call, NodePlan& plan, const Rows& rows, const std::optional<TensorArg>& weight,
                       const std::optional<TensorArg>& bias, double eps, const Shape& statistics) {
  SCONCE_TRY(TensorArg x, call.tensor(0, Dtype::f32));
  SCONCE_TRY(Operand y, plan.output(0, x.shape));
  SCONCE_TRY(Operand mean, plan.output(1, statistics));
  SCONCE_TRY(Operand rstd, plan.output(2, statistics));
  const uint64_t channels = rows.groups * rows.width / rows.inner;
  for (const auto& operand : {weight, bias})
    SCONCE_CHECK(!operand || operand->numel() == channels, "A weight or bias of shape {} does not go with {} channels.",
                 operand->shape, channels);
  if (rows.width == 0 && rows.rows > 0) {
    return fail(ErrorCode::unsupported, "{} of rows without elements has no mean; its input has shape {}.",
                call.node().op, x.shape);
  }
  const bool divided = call.capabilities().adapter_class != record::AdapterClass::software;
  return plan.dispatch(kernels::mean_norm{.x = x,
                                          .weight = weight ? Operand(*weight) : Operand{},
                                          .bias = bias ? Operand(*bias) : Operand{},
                                          .y = y,
                                          .mean = mean,
                                          .rstd = rstd,
                                          .rows = static_cast<uint32_t>(rows.rows),
                                          .width = static_cast<uint32_t>(rows.width),
                                          .groups = static_cast<uint32_t>(rows.groups),
                                          .inner = static_cast<uint32_t>(rows.inner),
                                          .eps = static_cast<float>(eps),
                                          .divided = divided,
                                          .lanes = divided ? 64u : 8u,
                                          .has_weight = weight.has_value(),
                                          .has_bias = bias.has_value()},
                       rows.rows);
}

}  // namespace

// aten.native_layer_norm(x [..., normalized], normalized shape, weight?, bias?, eps) -> y, mean, rstd [..., 1, ...]
Result<void> plan_layer_norm(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0, Dtype::f32));
  SCONCE_TRY(auto normalized, call.integers(1));
  SCONCE_TRY(auto weight, call.optional_tensor(2, Dtype::f32));
  SCONCE_TRY(auto bias, call.optional_tensor(3, Dtype::f32));
  SCONCE_TRY(double eps, call.number_or(4, 1e-5));
  bool fits = normalized.size() <= x.rank() && !normalized.empty();
  const size_t kept = fits ? x.rank() - normalized.size() : 0;
  Rows rows{.rows = 1, .width = 1};
  Shape statistics;
  for (size_t d = 0; fits && d < x.rank(); ++d) {
    fits = d < kept || x.shape[d] == normalized[d - kept];
    (d < kept ? rows.rows : rows.width) *= static_cast<uint64_t>(x.shape[d]);
    statistics.push_back(d < kept ? x.shape[d] : 1);
  }
  SCONCE_CHECK(fits, "A layer norm over [{}] does not go with shape {}.", fmt::join(normalized, ", "), x.shape);
  return plan_rows(call, plan, rows, weight, bias, eps, statistics);
}

// aten.native_group_norm(x [N, C, ...], weight?, bias?, N, C, HxW, groups, eps) -> y, mean, rstd [N, groups]
Result<void> plan_group_norm(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0, Dtype::f32));
  SCONCE_TRY(auto weight, call.optional_tensor(1, Dtype::f32));
  SCONCE_TRY(auto bias, call.optional_tensor(2, Dtype::f32));
  SCONCE_TRY(int64_t groups, call.integer(6));
  SCONCE_TRY(double eps, call.number_or(7, 1e-5));
  SCONCE_CHECK(x.rank() >= 2 && groups > 0 && x.shape[1] % groups == 0,
               "{} groups do not divide the channels of shape {}.", groups, x.shape);
  uint64_t inner = 1;
  for (size_t d = 2; d < x.rank(); ++d) inner *= static_cast<uint64_t>(x.shape[d]);
  const Rows rows{.rows = static_cast<uint64_t>(x.shape[0] * groups),
                  .width = static_cast<uint64_t>(x.shape[1] / groups) * inner,
                  .groups = static_cast<uint64_t>(groups),
                  .inner = std::max<uint64_t>(inner, 1)};
  return plan_rows(call, plan, rows, weight, bias, eps, Shape{x.shape[0], groups});
}

}  // namespace sconce::ops
