#include "kernels.h"
#include "ops/linear/linear.h"

namespace sconce::ops {
namespace {

// A 4-bit weight [N, K]: packed rows, and a scale for each row and group of K.
struct Q4Weight {
  std::span<const ConstantPart> parts;
  uint64_t n = 0;
  TensorArg scales;  // [groups, scale_stride]
  uint64_t groups = 1, scale_stride = 0, group_size = 0;
  std::optional<TensorArg> bias;  // at least N elements
};

// The rows of a tensor [..., width].
uint64_t leading_count(const Shape& shape) {
  uint64_t count = 1;
  for (size_t d = 0; d + 1 < shape.rank(); ++d) count *= static_cast<uint64_t>(shape[d]);
  return count;
}

Result<void> plan_q4_linear(const TensorArg& x, const Q4Weight& weight, NodePlan& plan) {
  Shape shape = x.shape;
  shape[shape.rank() - 1] = static_cast<int64_t>(weight.n);
  SCONCE_TRY(Operand y, plan.output(0, shape));
  const uint64_t m = leading_count(x.shape), k = static_cast<uint64_t>(x.shape.back());
  // A tile of four rows costs about as much as two passes over the weights.
  const uint32_t tokens = m >= 3 ? 4 : 1;
  const uint64_t tile_rows = tokens == 1 ? 64 : 256;
  for (const ConstantPart& part : weight.parts)
    SCONCE_DO(plan.dispatch(kernels::q4_linear_lanes{.x = x,
                                                     .blocks = part.data,
                                                     .scales = weight.scales,
                                                     .bias = weight.bias ? Operand(*weight.bias) : Operand{},
                                                     .y = y,
                                                     .m = static_cast<uint32_t>(m),
                                                     .n = static_cast<uint32_t>(weight.n),
                                                     .k = static_cast<uint32_t>(k),
                                                     .first_row = part.first_row,
                                                     .rows = part.rows,
                                                     .group_size = static_cast<uint32_t>(weight.group_size),
                                                     .groups = static_cast<uint32_t>(weight.groups),
                                                     .scale_stride = static_cast<uint32_t>(weight.scale_stride),
                                                     .has_bias = weight.bias.has_value(),
                                                     .tokens = tokens,
                                                     .whole_blocks = weight.group_size % 32 == 0},
                            div_ceil(m, tokens) * div_ceil(part.rows, tile_rows)));
  return {};
}

// Checks x [..., K] against a weight of [N, bytes a row].
Result<void> check_weight(const TensorArg& x, const TensorArg& weight) {
  SCONCE_CHECK(x.rank() >= 1 && weight.rank() == 2,
               "The input has shape {} and the weight {}, but [..., K] and "
               "[N, K / 2] are needed.",
               x.shape, weight.shape);
  SCONCE_CHECK(static_cast<uint64_t>(weight.shape[1]) >= div_ceil(static_cast<uint64_t>(x.shape.back()), 2),
               "The rows of the weight hold {} bytes, too few for {} elements of 4 bits.", weight.shape[1],
               x.shape.back());
  return {};
}

}  // namespace

// et_vk.linear_q4gsw(x [..., K], weight u8 [N, >= K/2], scales [>= groups, >= N], group_size, bias [>= N] or null)
//   -> y [..., N] = x * ((nibble - 8) * scale)^T + bias
// Two weights a byte, the earlier one in the low nibble.
Result<void> plan_linear_q4gsw(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0, Dtype::f32));
  SCONCE_TRY(TensorArg bytes, call.tensor(1, Dtype::u8));
  SCONCE_DO(check_weight(x, bytes));
  Q4Weight weight{.n = static_cast<uint64_t>(bytes.shape[0])};
  SCONCE_TRY(weight.scales, call.tensor(2, Dtype::f32));
  SCONCE_TRY(int64_t group_size, call.integer(3));
  SCONCE_TRY(weight.bias, call.optional_tensor(4, Dtype::f32));
  SCONCE_CHECK(group_size > 0, "The group size is {}, but it must be positive.", group_size);
  const Shape& scales = weight.scales.shape;
  weight.group_size = static_cast<uint64_t>(group_size);
  weight.groups = div_ceil(static_cast<uint64_t>(x.shape.back()), weight.group_size);
  SCONCE_CHECK(scales.rank() == 2 && static_cast<uint64_t>(scales[0]) >= weight.groups &&
                   static_cast<uint64_t>(scales[1]) >= weight.n,
               "The scales have shape {}, too small for {} groups of {} rows.", scales, weight.groups, weight.n);
  SCONCE_CHECK(!weight.bias || weight.bias->numel() >= weight.n, "The bias has {} elements, too few for {} rows.",
               weight.bias->numel(), weight.n);
  weight.scale_stride = static_cast<uint64_t>(scales[1]);
  SCONCE_TRY(weight.parts, call.constant_parts(1, Packing::q4_blocks));
  return plan_q4_linear(x, weight, plan);
}

// et_vk.linear_qcs4w(x [..., K], weight u8 [N, >= K/2], scales [>= N]) -> y [..., N] = x * ((nibble - 8) * scale)^T
// Two weights a byte, the earlier one in the high nibble.
Result<void> plan_linear_qcs4w(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0, Dtype::f32));
  SCONCE_TRY(TensorArg bytes, call.tensor(1, Dtype::u8));
  SCONCE_DO(check_weight(x, bytes));
  Q4Weight weight{.n = static_cast<uint64_t>(bytes.shape[0])};
  SCONCE_TRY(weight.scales, call.tensor(2, Dtype::f32));
  SCONCE_CHECK(weight.scales.numel() >= weight.n, "There are {} scales, too few for {} rows.", weight.scales.numel(),
               weight.n);
  weight.scale_stride = weight.scales.numel();
  // One group a row, in whole blocks.
  weight.group_size = round_up(std::max<uint64_t>(1, static_cast<uint64_t>(x.shape.back())), 32);
  SCONCE_TRY(weight.parts, call.constant_parts(1, Packing::q4_blocks_high_first));
  return plan_q4_linear(x, weight, plan);
}

}  // namespace sconce::ops
