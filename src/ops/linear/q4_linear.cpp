#include "kernels.h"
#include "ops/linear/linear.h"
#include "ops/linear/q4_linear_matrix.h"
#include "ops/linear/rows.h"

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

// x [m, k] times a weight into y [m, N].
struct Q4Call {
  const TensorArg& x;
  const Q4Weight& weight;
  Operand y;
  uint64_t m, k;
};

// How x [m, k] is worked on. `tile_m` x `tile_n` elements of y are one workgroup.
struct Route {
  enum class Kind { lanes, gemv, tile } kind;
  uint64_t tile_m, tile_n;
};

Route choose_route(uint64_t m, const record::Capabilities& device) {
  if (device.adapter_class == record::AdapterClass::software && device.subgroups && device.subgroup_min_size >= 4)
    return {Route::Kind::lanes, m < 3 ? 1u : m <= 4 ? 4u : 8u, 32};
  // The weights of a few rows of x stay in the GPU's cache; a tile would be mostly empty.
  if (m <= 8) return {Route::Kind::gemv, 1, 16};
  return {Route::Kind::tile, 64, 64};
}

// On the device's matrix unit, where it may be used.
std::optional<Q4MatrixProduct> matrix_product(const Q4Call& call, const ConstantPart& part,
                                              const record::Capabilities& device) {
  const Q4Weight& weight = call.weight;
  const Q4MatrixProduct product{.x = call.x,
                                .blocks = part.data,
                                .scales = weight.scales,
                                .m = call.m,
                                .k = call.k,
                                .rows = part.rows,
                                .first_row = part.first_row,
                                .group_size = weight.group_size,
                                .scale_stride = weight.scale_stride};
  if (!fits_matrix_unit(product, device)) return std::nullopt;
  return product;
}

Result<void> plan_matrix_part(const Q4Call& call, const ConstantPart& part, const Q4MatrixProduct& product,
                              const record::Capabilities& device, NodePlan& plan) {
  SCONCE_TRY(Q4MatrixParts parts, plan_q4_matrix(product, device, plan));
  Q4MatrixOutput output{.y = call.y, .n = part.rows, .y_stride = call.weight.n, .first_y = part.first_row};
  if (call.weight.bias) output.addend = *call.weight.bias;
  return plan_q4_matrix_output(parts, output, plan);
}

// The parts of a kernel that do not depend on the route.
template <typename Kernel>
Kernel q4_kernel(const Q4Call& call, const ConstantPart& part) {
  const Q4Weight& weight = call.weight;
  Kernel kernel;
  kernel.x = call.x;
  kernel.blocks = part.data;
  kernel.scales = weight.scales;
  if (weight.bias) kernel.bias = *weight.bias;
  kernel.y = call.y;
  kernel.m = static_cast<uint32_t>(call.m);
  kernel.n = static_cast<uint32_t>(weight.n);
  kernel.k = static_cast<uint32_t>(call.k);
  kernel.first_row = part.first_row;
  kernel.rows = part.rows;
  kernel.group_size = static_cast<uint32_t>(weight.group_size);
  kernel.groups = static_cast<uint32_t>(weight.groups);
  kernel.scale_stride = static_cast<uint32_t>(weight.scale_stride);
  kernel.has_bias = weight.bias.has_value();
  kernel.whole_blocks = weight.group_size % 32 == 0;
  return kernel;
}

Result<void> plan_part(const Q4Call& call, const ConstantPart& part, const Route& route, uint32_t subgroup_size,
                       NodePlan& plan) {
  const uint64_t workgroups = div_ceil(call.m, route.tile_m) * div_ceil(part.rows, route.tile_n);
  switch (route.kind) {
    case Route::Kind::lanes: {
      auto kernel = q4_kernel<kernels::q4_linear_lanes>(call, part);
      kernel.tokens = static_cast<uint32_t>(route.tile_m);
      kernel.width = subgroup_size >= 8 ? 8 : 4;
      return plan.dispatch(kernel, workgroups);
    }
    case Route::Kind::gemv:
      return plan.dispatch(q4_kernel<kernels::q4_linear_gemv>(call, part), workgroups);
    case Route::Kind::tile:
      return plan.dispatch(q4_kernel<kernels::q4_linear_tile>(call, part), workgroups);
  }
  return {};
}

Result<void> plan_q4_linear(const Call& call, const TensorArg& x, const Q4Weight& weight, NodePlan& plan) {
  Shape shape = x.shape;
  shape[shape.rank() - 1] = static_cast<int64_t>(weight.n);
  SCONCE_TRY(Operand y, plan.output(0, shape));
  const Q4Call product{x, weight, y, leading_count(x.shape), static_cast<uint64_t>(x.shape.back())};
  const record::Capabilities& device = call.capabilities();
  const Route route = choose_route(product.m, device);
  for (const ConstantPart& part : weight.parts) {
    if (auto matrix = matrix_product(product, part, device)) {
      SCONCE_DO(plan_matrix_part(product, part, *matrix, device, plan));
    } else {
      SCONCE_DO(plan_part(product, part, route, device.subgroup_min_size, plan));
    }
  }
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
  return plan_q4_linear(call, x, weight, plan);
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
  return plan_q4_linear(call, x, weight, plan);
}

}  // namespace sconce::ops
