// The operators over 4-bit weights: their arguments, checks and shapes.
#include "ops/elementwise/elementwise.h"
#include "ops/linear/linear.h"
#include "ops/linear/q4_dispatch.h"
#include "ops/linear/rows.h"
#include "ops/movement/movement.h"
#include "ops/norm/norm.h"
#include "ops/quantize/quantize.h"
#include "ops/shared/strides.h"

namespace sconce::ops {
namespace {

// Where an operator has its weights; absent scales have one group a row, and the earlier weight in the high nibble.
struct WeightArguments {
  size_t weights, scales;
  std::optional<size_t> group_size;
  std::optional<size_t> bias;
};

// Rows and groups of x [..., K] times weights u8 [N, >= K/2] with scales [>= groups, >= N] (or [>= N]).
Result<void> read_shapes(const Call& call, const TensorArg& x, const WeightArguments& at, Q4Weights& weights) {
  SCONCE_TRY(auto bytes, call.tensors(at.weights));
  SCONCE_TRY(auto scales, call.tensors(at.scales));
  SCONCE_CHECK(bytes.size() <= Q4Weights::kMost && scales.size() == bytes.size(),
               "There are {} weights and {} scales, but from 1 to {} of both are needed.", bytes.size(), scales.size(),
               Q4Weights::kMost);
  weights.count = bytes.size();
  for (size_t i = 0; i < bytes.size(); ++i) {
    const Shape &weight = bytes[i].shape, &scale = scales[i].shape;
    SCONCE_CHECK(bytes[i].dtype == Dtype::u8 && scales[i].dtype == Dtype::f32,
                 "The weight has elements of {} and the scales of {}, but u8 and f32 are needed.", bytes[i].dtype,
                 scales[i].dtype);
    SCONCE_CHECK(x.rank() >= 1 && weight.rank() == 2,
                 "The input has shape {} and the weight {}, but [..., K] and [N, K / 2] are needed.", x.shape, weight);
    SCONCE_CHECK(static_cast<uint64_t>(weight[1]) >= div_ceil(static_cast<uint64_t>(x.shape.back()), 2),
                 "The rows of the weight hold {} bytes, too few for {} elements of 4 bits.", weight[1], x.shape.back());
    weights.n[i] = static_cast<uint64_t>(weight[0]);
    const bool by_group = scale.rank() == 2 && static_cast<uint64_t>(scale[0]) >= weights.groups;
    SCONCE_CHECK((at.group_size ? by_group : scale.rank() >= 1) && static_cast<uint64_t>(scale.back()) >= weights.n[i],
                 "The scales have shape {}, too small for {} groups of {} rows.", scale, weights.groups, weights.n[i]);
    SCONCE_CHECK(i + 1 == bytes.size() || static_cast<uint64_t>(scale.back()) == weights.n[i],
                 "The scales of {} rows are padded to {}, so that those of another weight cannot follow.", weights.n[i],
                 scale.back());
  }
  return {};
}

Result<void> read_bias(const Call& call, size_t at, Q4Weights& weights) {
  if (call.is_null(at)) return {};
  SCONCE_TRY(auto biases, call.tensors(at));
  uint64_t count = 0;
  for (const TensorArg& bias : biases) {
    SCONCE_CHECK(bias.dtype == Dtype::f32, "The bias has elements of {}, but f32 is needed.", bias.dtype);
    count += bias.numel();
  }
  SCONCE_CHECK(count == weights.rows() || (biases.size() == 1 && count > weights.rows()),
               "The bias has {} elements, too few for {} rows.", count, weights.rows());
  if (biases.size() == 1) {
    weights.bias = biases[0];
    return {};
  }
  SCONCE_TRY(weights.bias, call.constant(at, Packing::raw));
  return {};
}

Result<Q4Weights> read_weights(const Call& call, const TensorArg& x, const WeightArguments& at) {
  Q4Weights weights;
  const uint64_t k = x.rank() == 0 ? 0 : static_cast<uint64_t>(x.shape.back());
  weights.group_size = round_up(std::max<uint64_t>(1, k), 32);  // one group a row, in whole blocks
  if (at.group_size) {
    SCONCE_TRY(int64_t group_size, call.integer(*at.group_size));
    SCONCE_CHECK(group_size > 0, "The group size is {}, but it must be positive.", group_size);
    weights.group_size = static_cast<uint64_t>(group_size);
    weights.groups = div_ceil(k, weights.group_size);
  }
  SCONCE_DO(read_shapes(call, x, at, weights));
  if (at.bias) SCONCE_DO(read_bias(call, *at.bias, weights));
  const Packing packing = at.group_size ? Packing::q4_blocks : Packing::q4_blocks_high_first;
  SCONCE_TRY(weights.blocks, call.constant_parts(at.weights, packing));
  SCONCE_TRY(weights.scales, call.constant_parts(at.scales, Packing::columns));
  return weights;
}

Q4Product product_of(const TensorArg& x, const Q4Weights& weights) {
  return {.x = x, .m = leading_count(x.shape), .k = static_cast<uint64_t>(x.shape.back()), .weights = weights};
}

Shape output_shape(const TensorArg& x, uint64_t n) {
  Shape shape = x.shape;
  shape[shape.rank() - 1] = static_cast<int64_t>(n);
  return shape;
}

Result<void> plan_single(const Call& call, const WeightArguments& at, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0, Dtype::f32));
  SCONCE_TRY(Q4Weights weights, read_weights(call, x, at));
  Q4Product product = product_of(x, weights);
  SCONCE_TRY(product.y[0], plan.output(0, output_shape(x, weights.n[0])));
  return plan_q4_product(product, call.capabilities(), plan);
}

// The only output, of a gated product or of one with a residual, in the shape that its readers expect.
Result<void> plan_only_output(const Call& call, Q4Product product, const Shape& shape, NodePlan& plan) {
  SCONCE_TRY(auto residual, call.optional_tensor(8, Dtype::f32));
  if (!residual || residual->shape == shape) {
    if (residual) product.residual = *residual;
    SCONCE_TRY(product.y[0], plan.output(0, shape));
    return plan_q4_product(product, call.capabilities(), plan);
  }
  // One of the two is broadcast.
  SCONCE_TRY(Shape sum_shape, broadcast_shape(shape, residual->shape));
  SCONCE_TRY(Operand sum, plan.output(0, sum_shape));
  product.y[0] = plan.scratch(shape.numel() * sizeof(float));
  SCONCE_DO(plan_q4_product(product, call.capabilities(), plan));
  return plan_sum_of({product.y[0], shape}, {*residual, residual->shape}, sum, plan);
}

}  // namespace

// et_vk.linear_q4gsw(x [..., K], weight u8 [N, >= K/2], scales [>= groups, >= N], group_size, bias [>= N] or null)
//   -> y [..., N] = x * ((nibble - 8) * scale)^T + bias
// Two weights a byte, the earlier one in the low nibble.
Result<void> plan_linear_q4gsw(const Call& call, NodePlan& plan) {
  return plan_single(call, {.weights = 1, .scales = 2, .group_size = 3, .bias = 4}, plan);
}

// et_vk.linear_dq8ca_q4gsw(x [..., K], scale [...], zero_point i8 [...], weight u8 [N, >= K/2], sums of the weights,
//                          scales [>= groups, >= N], group_size, bias [>= N] or null) -> y [..., N]
// As linear_q4gsw of x rounded to int8. The integer sum of a group, times both scales, is the f32 sum of the rounded
// values times the weights, so no kernel of its own is needed, nor the sums of the weights.
Result<void> plan_linear_dq8ca_q4gsw(const Call& call, NodePlan& plan) {
  SCONCE_TRY(QuantizedRows rows, read_quantized_rows(call));
  SCONCE_TRY(Q4Weights weights, read_weights(call, rows.x, {.weights = 3, .scales = 5, .group_size = 6, .bias = 7}));
  SCONCE_TRY(Operand y, plan.output(0, output_shape(rows.x, weights.n[0])));
  const Operand h = plan.scratch(rows.x.numel() * sizeof(float));
  SCONCE_DO(plan_rounding(rows, h, plan));
  Q4Product product = product_of(rows.x, weights);
  product.x = h;
  product.y[0] = y;
  return plan_q4_product(product, call.capabilities(), plan);
}

// et_vk.linear_qcs4w(x [..., K], weight u8 [N, >= K/2], scales [>= N]) -> y [..., N] = x * ((nibble - 8) * scale)^T
// Two weights a byte, the earlier one in the high nibble.
Result<void> plan_linear_qcs4w(const Call& call, NodePlan& plan) {
  return plan_single(call, {.weights = 1, .scales = 2, .group_size = {}, .bias = {}}, plan);
}

// sconce.q4_linear(x [..., K], norm_weight [K] or null, norm_eps or null, weights, scales, group_size or null,
//                  biases or null, activation "none" or "swiglu", residual or null, sizes or null)
//   -> y_i [..., N_i] = h * W_i^T + b_i for each of up to three weights, or
//   -> y = silu(y_0) * y_1 with "swiglu" and two weights, or
//   -> y = y_0 + residual, one weight, broadcast as aten.add does
// h is x, or rms_norm(x, norm_weight, norm_eps). Weights, scales and biases are lists of what linear_q4gsw takes, or,
// without a group size, linear_qcs4w. `sizes` are those of a view between the product and the activation or the sum.
Result<void> plan_q4_linear(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0, Dtype::f32));
  SCONCE_TRY(auto norm_weight, call.optional_tensor(1, Dtype::f32));
  WeightArguments at{.weights = 3, .scales = 4, .group_size = 5, .bias = 6};
  if (call.is_null(5)) at.group_size.reset();
  SCONCE_TRY(Q4Weights weights, read_weights(call, x, at));
  Q4Product product = product_of(x, weights);
  if (norm_weight) {
    SCONCE_CHECK(norm_weight->shape == Shape{x.shape.back()}, "The weight has shape {} but the rows have {} elements.",
                 norm_weight->shape, x.shape.back());
    product.norm_weight = *norm_weight;
    SCONCE_TRY(product.eps, call.number_or(2, kRmsNormEps));
  }
  SCONCE_TRY(std::string_view activation, call.text(7));
  product.swiglu = activation == "swiglu";
  SCONCE_CHECK(product.swiglu || activation == "none",
               "The activation is \"{}\", but \"none\" or \"swiglu\" is needed.", activation);
  SCONCE_CHECK(!product.swiglu || (weights.count == 2 && weights.n[0] == weights.n[1]),
               "swiglu takes two weights of equal shape, but there are {}, of {} and {} rows.", weights.count,
               weights.n[0], weights.n[1]);
  SCONCE_CHECK(!product.swiglu || call.is_null(8), "A product with swiglu takes no residual.");
  if (product.swiglu || weights.count == 1) {
    Shape shape = output_shape(x, weights.n[0]);
    if (!call.is_null(9)) {
      SCONCE_TRY(shape, view_shape(call, 9, shape.numel()));
    }
    return plan_only_output(call, product, shape, plan);
  }
  SCONCE_CHECK(call.is_null(8) && call.is_null(9), "Products with {} weights take no residual and no sizes.",
               weights.count);
  for (size_t i = 0; i < weights.count; ++i) {
    SCONCE_TRY(product.y[i], plan.output(i, output_shape(x, weights.n[i])));
  }
  return plan_q4_product(product, call.capabilities(), plan);
}

}  // namespace sconce::ops
