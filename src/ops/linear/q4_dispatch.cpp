#include "ops/linear/q4_dispatch.h"

#include <algorithm>

#include "kernels.h"
#include "ops/linear/q4_linear_matrix.h"
#include "ops/norm/norm.h"

namespace sconce::ops {
namespace {

// How x [m, k] is worked on. `tile_m` rows of x and `tile_n` rows of the weights are one workgroup.
struct Route {
  enum class Kind { lanes, gemv, subgroups, tile, matrix } kind;
  uint64_t tile_m, tile_n;
  bool fused;  // the kernel normalises x, gates, and stores into several outputs
};

// What q4_linear_subgroups.wgsl needs.
bool fits_subgroups(const Q4Product& product, const record::Capabilities& device) {
  return device.subgroups && device.subgroup_min_size >= 16 && product.k % 32 == 0 &&
         product.weights.group_size % 32 == 0 &&
         kernels::q4_linear_subgroups::info().workgroup_bytes <= device.max_workgroup_storage_bytes;
}

// Rows of the weights that 256 invocations take with each K of an H200: many where there are many, so that x is read
// less often, few where few would leave processors idle.
Route subgroup_route(const Q4Product& product) {
  const uint64_t rows = product.weights.rows();
  return {Route::Kind::subgroups, 1, rows < 8192 ? 8u : rows < 65536 ? 32u : 64u, true};
}

Route choose_route(const Q4Product& product, const record::Capabilities& device) {
  const uint64_t m = product.m;
  if (device.adapter_class == record::AdapterClass::software && device.subgroups && device.subgroup_min_size >= 4)
    return {Route::Kind::lanes, m == 1 ? 1u : 8u, 32, true};
  // The weights of a few rows of x stay in the GPU's cache; a tile would be mostly empty.
  if (m <= 8 && fits_subgroups(product, device)) return subgroup_route(product);
  if (m <= 8) return {Route::Kind::gemv, 1, 16, true};
  if (fits_matrix_unit(product, device)) return {Route::Kind::matrix, 0, 0, false};
  return {Route::Kind::tile, 64, 64, false};
}

// What one dispatch takes: rows [first, first + rows) of the weights, which lie in one part of the blocks and one of
// the scales. They are columns of y_0 from `column` on, or all columns of all outputs.
struct Segment {
  uint64_t first = 0, rows = 0;
  const ConstantPart *blocks = nullptr, *scales = nullptr;
  std::array<Operand, Q4Weights::kMost> y = {};
  std::array<uint64_t, Q4Weights::kMost> n = {};  // columns of the outputs
  uint64_t column = 0;
};

// What the kernels of all routes have in common.
template <typename Kernel>
Kernel segment_kernel(const Q4Product& product, const Segment& segment) {
  const Q4Weights& weights = product.weights;
  Kernel kernel;
  kernel.x = product.x;
  kernel.blocks = segment.blocks->data;
  kernel.scales = segment.scales->data;
  if (weights.bias) kernel.bias = *weights.bias;
  kernel.m = static_cast<uint32_t>(product.m);
  kernel.k = static_cast<uint32_t>(product.k);
  kernel.rows = static_cast<uint32_t>(segment.rows);
  kernel.block_row = static_cast<uint32_t>(segment.first - segment.blocks->first_row);
  kernel.block_rows = segment.blocks->rows;
  kernel.scale_row = static_cast<uint32_t>(segment.first - segment.scales->first_row);
  kernel.scale_rows = segment.scales->rows;
  kernel.bias_row = static_cast<uint32_t>(segment.first);
  kernel.column = static_cast<uint32_t>(segment.column);
  kernel.group_size = static_cast<uint32_t>(weights.group_size);
  kernel.groups = static_cast<uint32_t>(weights.groups);
  kernel.has_bias = weights.bias.has_value();
  kernel.has_residual = product.residual.has_value();
  return kernel;
}

// And the kernels that fuse.
template <typename Kernel>
Kernel fused_kernel(const Q4Product& product, const Segment& segment) {
  Kernel kernel = segment_kernel<Kernel>(product, segment);
  if (product.norm_weight) kernel.extra = *product.norm_weight;
  if (product.residual) kernel.extra = *product.residual;
  kernel.eps = static_cast<float>(product.eps);
  kernel.y0 = segment.y[0];
  kernel.y1 = segment.y[1];
  kernel.y2 = segment.y[2];
  kernel.n0 = static_cast<uint32_t>(segment.n[0]);
  kernel.n1 = static_cast<uint32_t>(segment.n[1]);
  kernel.n2 = static_cast<uint32_t>(segment.n[2]);
  using Form = typename Kernel::Form;
  kernel.form = product.norm_weight ? product.swiglu ? Form::norm_swiglu : Form::norm
                : product.swiglu    ? Form::swiglu
                                    : Form::plain;
  return kernel;
}

Result<void> plan_segment(const Q4Product& product, const Segment& segment, const Route& route,
                          const record::Capabilities& device, NodePlan& plan) {
  // With swiglu a workgroup takes half of its rows from either weight.
  const uint64_t row_tiles = div_ceil(product.swiglu ? 2 * segment.n[0] : segment.rows, route.tile_n);
  const uint64_t workgroups = div_ceil(product.m, route.tile_m) * row_tiles;
  switch (route.kind) {
    case Route::Kind::lanes: {
      auto kernel = fused_kernel<kernels::q4_linear_lanes>(product, segment);
      kernel.whole_blocks = product.weights.group_size % 32 == 0 && product.k % 32 == 0;
      kernel.tokens = static_cast<uint32_t>(route.tile_m);
      kernel.width = device.subgroup_min_size >= 8 ? 8 : 4;
      return plan.dispatch(kernel, workgroups);
    }
    case Route::Kind::gemv: {
      auto kernel = fused_kernel<kernels::q4_linear_gemv>(product, segment);
      kernel.whole_blocks = product.weights.group_size % 32 == 0;
      return plan.dispatch(kernel, workgroups);
    }
    case Route::Kind::subgroups: {
      auto kernel = fused_kernel<kernels::q4_linear_subgroups>(product, segment);
      kernel.owned = route.tile_n == 64 ? 4 : 2;
      kernel.columns = static_cast<uint32_t>(route.tile_n) / kernel.owned;
      return plan.dispatch(kernel, workgroups);
    }
    case Route::Kind::matrix:
      break;  // plan_q4_matrix
    case Route::Kind::tile: {
      auto kernel = segment_kernel<kernels::q4_linear_tile>(product, segment);
      if (product.residual) kernel.residual = *product.residual;
      kernel.whole_blocks = product.weights.group_size % 32 == 0;
      kernel.y = segment.y[0];
      kernel.n = static_cast<uint32_t>(segment.n[0]);
      return plan.dispatch(kernel, workgroups);
    }
  }
  return {};
}

// Each weight by itself, by those rows that lie in one part of the blocks and one of the scales.
Result<void> plan_each(const Q4Product& product, const Route& route, const record::Capabilities& device,
                       NodePlan& plan) {
  const Q4Weights& weights = product.weights;
  uint64_t start = 0;
  for (size_t i = 0; i < weights.count; ++i) {
    const uint64_t end = start + weights.n[i];
    Segment segment;
    segment.y[0] = product.y[i];
    segment.n[0] = weights.n[i];
    for (segment.first = start; segment.first < end; segment.first += segment.rows) {
      segment.blocks = &part_with(weights.blocks, segment.first);
      segment.scales = &part_with(weights.scales, segment.first);
      segment.column = segment.first - start;
      segment.rows = std::min({end, segment.blocks->end_row(), segment.scales->end_row()}) - segment.first;
      SCONCE_DO(plan_segment(product, segment, route, device, plan));
    }
    start = end;
  }
  return {};
}

}  // namespace

Result<void> plan_q4_product(Q4Product product, const record::Capabilities& device, NodePlan& plan) {
  const Q4Weights& weights = product.weights;
  const Route route = choose_route(product, device);
  // The norm's weight and a residual share a binding.
  if (product.norm_weight && (!route.fused || product.residual)) {
    const Operand h = plan.scratch(product.m * product.k * sizeof(float));
    SCONCE_DO(plan_rms_norm_of(product.x, *product.norm_weight, h, product.m, product.k, product.eps, device, plan));
    product.x = h;
    product.norm_weight.reset();
  }
  if (route.kind == Route::Kind::matrix) return plan_q4_matrix(product, device, plan);
  if (route.fused && weights.blocks.size() == 1 && weights.scales.size() == 1)
    return plan_segment(product,
                        {.rows = weights.rows(),
                         .blocks = &weights.blocks[0],
                         .scales = &weights.scales[0],
                         .y = product.y,
                         .n = weights.n},
                        route, device, plan);
  if (!product.swiglu) return plan_each(product, route, device, plan);

  const uint64_t count = product.m * weights.n[0];
  const Operand y = product.y[0];
  product.y[0] = plan.scratch(count * sizeof(float));
  product.y[1] = plan.scratch(count * sizeof(float));
  product.swiglu = false;
  SCONCE_DO(plan_each(product, route, device, plan));
  return plan.dispatch(
      kernels::swiglu{.gate = product.y[0], .up = product.y[1], .y = y, .count = static_cast<uint32_t>(count)},
      div_ceil(count, 64));
}

}  // namespace sconce::ops
