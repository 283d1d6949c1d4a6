// Operators that take pixels of an image from computed places.
#include <cmath>

#include "kernels.h"
#include "ops/movement/movement.h"
#include "ops/shared/elements.h"

namespace sconce::ops {
namespace {

Result<TensorArg> image_argument(const Call& call) {
  SCONCE_TRY(TensorArg x, call.tensor(0, Dtype::f32));
  SCONCE_CHECK(x.rank() == 4, "{} takes [batch, channels, height, width], but its input has shape {}.", call.node().op,
               x.shape);
  return x;
}

// The height and width of the output, from sizes or else from scale factors, with the given factors (0: none).
struct Resize {
  int64_t height = 0, width = 0;
  double factor_h = 0, factor_w = 0;
};

Result<Resize> read_resize(const Call& call, const TensorArg& x, size_t sizes_at, size_t factors_at) {
  Resize resize;
  SCONCE_TRY(auto factors, call.numbers(factors_at));
  SCONCE_TRY(auto sizes, call.integers(sizes_at));
  if (factors.size() == 2) {
    resize.factor_h = factors[0];
    resize.factor_w = factors[1];
    resize.height = static_cast<int64_t>(std::floor(x.shape[2] * factors[0]));
    resize.width = static_cast<int64_t>(std::floor(x.shape[3] * factors[1]));
  }
  if (sizes.size() == 2) {
    resize.height = sizes[0];
    resize.width = sizes[1];
  }
  SCONCE_CHECK(sizes.size() == 2 || factors.size() == 2, "{} needs a height and a width, as sizes or as factors.",
               call.node().op);
  SCONCE_CHECK(resize.height >= 0 && resize.width >= 0, "{} cannot make an image of {} by {}.", call.node().op,
               resize.height, resize.width);
  return resize;
}

Result<void> plan_upsample(const TensorArg& x, const Resize& resize, kernels::upsample2d kernel, NodePlan& plan) {
  const Shape shape = {x.shape[0], x.shape[1], resize.height, resize.width};
  SCONCE_TRY(kernel.y, plan.output(0, shape));
  SCONCE_CHECK(x.numel() > 0 || shape.numel() == 0, "An empty image of shape {} cannot be resized to {}.", x.shape,
               shape);
  kernel.x = x;
  kernel.count = static_cast<uint32_t>(shape.numel());
  kernel.in_h = static_cast<uint32_t>(x.shape[2]);
  kernel.in_w = static_cast<uint32_t>(x.shape[3]);
  kernel.out_h = static_cast<uint32_t>(resize.height);
  kernel.out_w = static_cast<uint32_t>(resize.width);
  return plan.dispatch(kernel, div_ceil(shape.numel(), kElementwiseInvocations));
}

// Pixels of the input for each pixel of the output: a given factor wins over the ratio of the sizes, as in torch.
float area_scale(int64_t in, int64_t out, double factor) {
  return factor > 0 ? static_cast<float>(1.0 / factor) : static_cast<float>(in) / static_cast<float>(out);
}

float corner_scale(int64_t in, int64_t out) {
  return out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1) : 0.0f;
}

}  // namespace

// aten.upsample_nearest2d.vec(x, sizes, factors)
Result<void> plan_upsample_nearest2d(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, image_argument(call));
  SCONCE_TRY(Resize resize, read_resize(call, x, 1, 2));
  return plan_upsample(x, resize,
                       {.scale_h = area_scale(x.shape[2], resize.height, resize.factor_h),
                        .scale_w = area_scale(x.shape[3], resize.width, resize.factor_w),
                        .bilinear = false},
                       plan);
}

// aten.upsample_bilinear2d.vec(x, sizes, align_corners, factors)
Result<void> plan_upsample_bilinear2d(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, image_argument(call));
  SCONCE_TRY(bool align_corners, call.flag(2));
  SCONCE_TRY(Resize resize, read_resize(call, x, 1, 3));
  kernels::upsample2d kernel{.bilinear = true};
  if (align_corners) {
    kernel.scale_h = corner_scale(x.shape[2], resize.height);
    kernel.scale_w = corner_scale(x.shape[3], resize.width);
  } else {
    kernel.scale_h = area_scale(x.shape[2], resize.height, resize.factor_h);
    kernel.scale_w = area_scale(x.shape[3], resize.width, resize.factor_w);
    kernel.shift = 0.5f;
  }
  return plan_upsample(x, resize, kernel, plan);
}

// aten.grid_sampler_2d(x, grid, interpolation, padding, align_corners): interpolation 0 is bilinear, 1 nearest; padding
// 0 is zeros, 1 the border
Result<void> plan_grid_sampler_2d(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, image_argument(call));
  SCONCE_TRY(TensorArg grid, call.tensor(1, Dtype::f32));
  SCONCE_TRY(int64_t interpolation, call.integer(2));
  SCONCE_TRY(int64_t padding, call.integer(3));
  SCONCE_TRY(bool align_corners, call.flag(4));
  SCONCE_CHECK(grid.rank() == 4 && grid.shape[0] == x.shape[0] && grid.shape[3] == 2,
               "A grid of shape {} does not go with images of shape {}.", grid.shape, x.shape);
  if (interpolation < 0 || interpolation > 1 || padding < 0 || padding > 1)
    return fail(ErrorCode::unsupported, "grid_sampler_2d has no kernel for interpolation {} with padding {}.",
                interpolation, padding);
  const Shape shape = {x.shape[0], x.shape[1], grid.shape[1], grid.shape[2]};
  SCONCE_TRY(Operand y, plan.output(0, shape));
  SCONCE_CHECK(x.numel() > 0 || shape.numel() == 0, "An empty image of shape {} has no pixels to sample.", x.shape);
  return plan.dispatch(kernels::grid_sampler_2d{.x = x,
                                                .grid = grid,
                                                .y = y,
                                                .count = static_cast<uint32_t>(shape.numel()),
                                                .channels = static_cast<uint32_t>(x.shape[1]),
                                                .in_h = static_cast<uint32_t>(x.shape[2]),
                                                .in_w = static_cast<uint32_t>(x.shape[3]),
                                                .out_pixels = static_cast<uint32_t>(shape[2] * shape[3]),
                                                .align_corners = align_corners,
                                                .bilinear = interpolation == 0,
                                                .border = padding == 1},
                       div_ceil(shape.numel(), kElementwiseInvocations));
}

// et_vk.grid_priors(x [..., H, W], stride, offset) -> [H * W, 2]
Result<void> plan_grid_priors(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_TRY(double stride, call.number(1));
  SCONCE_TRY(double offset, call.number(2));
  SCONCE_CHECK(x.rank() >= 2, "grid_priors needs a height and a width, but its input has shape {}.", x.shape);
  const int64_t width = x.shape[x.rank() - 1];
  const int64_t count = x.shape[x.rank() - 2] * width;
  SCONCE_TRY(Operand y, plan.output(0, Shape{count, 2}));
  return plan.dispatch(kernels::grid_priors{.y = y,
                                            .count = static_cast<uint32_t>(count),
                                            .width = static_cast<uint32_t>(width),
                                            .stride = static_cast<float>(stride),
                                            .offset = static_cast<float>(offset)},
                       div_ceil(count, kElementwiseInvocations));
}

}  // namespace sconce::ops
