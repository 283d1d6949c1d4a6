#include "ops/linear/q4_linear_matrix.h"

#include <algorithm>

#include "base/math.h"
#include "kernels.h"

namespace sconce::ops {
namespace {

constexpr uint64_t kTileRows = 128;
// Fewer tokens than this leave most of a tile empty, and the weights' bytes are what costs.
constexpr uint64_t kFewestTokens = 9;

struct Tiling {
  uint64_t tile_m = 64;
  uint64_t tiles = 0;
  uint64_t splits = 1, split_k = 0;
};

// About two workgroups for each of a large GPU's 132 processors: tall tiles decode each weight for more tokens, small
// ones and parts of k give more workgroups. Measured on 7 shapes of one H200 (docs/performance.md).
Tiling choose_tiling(const Q4Product& p, uint64_t max_bytes) {
  constexpr uint64_t kWorkgroups = 256, kLeastSplit = 512, kMostSplits = 8;
  Tiling tiling;
  const uint64_t row_tiles = div_ceil(p.weights.rows(), kTileRows);
  if (p.m > 64 && row_tiles * div_ceil(p.m, 128) >= kWorkgroups / 4) tiling.tile_m = 128;
  tiling.tiles = row_tiles * div_ceil(p.m, tiling.tile_m);
  const uint64_t part_bytes = tiling.tiles * tiling.tile_m * kTileRows * sizeof(float);
  const uint64_t splits =
      std::min({kMostSplits, kWorkgroups / tiling.tiles, p.k / kLeastSplit, max_bytes / part_bytes});
  tiling.split_k = round_up(div_ceil(p.k, std::max<uint64_t>(1, splits)), 32);
  tiling.splits = div_ceil(p.k, tiling.split_k);
  return tiling;
}

}  // namespace

bool fits_matrix_unit(const Q4Product& p, const record::Capabilities& device) {
  const Q4Weights& w = p.weights;
  if (!device.f16_products || !record::has_matrix_16(device)) return false;
  if (kernels::q4_linear_matrix::info().workgroup_bytes > device.max_workgroup_storage_bytes) return false;
  if (w.blocks.size() != 1 || w.scales.size() != 1) return false;
  if (p.m < kFewestTokens || p.k == 0 || p.k % 32 != 0 || w.group_size % 32 != 0) return false;
  if (w.rows() < kTileRows / 2) return false;  // more than half of the only tile would be empty
  const uint64_t part_bytes = round_up(p.m, 128) * round_up(w.rows(), kTileRows) * sizeof(float);
  return part_bytes <= device.max_storage_binding_bytes;
}

Result<void> plan_q4_matrix(const Q4Product& p, const record::Capabilities& device, NodePlan& plan) {
  const Q4Weights& w = p.weights;
  const Tiling tiling = choose_tiling(p, device.max_storage_binding_bytes);
  const uint64_t columns = round_up(w.rows(), kTileRows);
  const uint64_t split_stride = round_up(p.m, tiling.tile_m) * columns;
  const Operand parts = plan.scratch(tiling.splits * split_stride * sizeof(float));
  SCONCE_DO(plan.dispatch(kernels::q4_linear_matrix{.x = p.x,
                                                    .blocks = w.blocks[0].data,
                                                    .scales = w.scales[0].data,
                                                    .parts = parts,
                                                    .m = static_cast<uint32_t>(p.m),
                                                    .k = static_cast<uint32_t>(p.k),
                                                    .rows = static_cast<uint32_t>(w.rows()),
                                                    .block_rows = w.blocks[0].rows,
                                                    .scale_rows = w.scales[0].rows,
                                                    .group_size = static_cast<uint32_t>(w.group_size),
                                                    .split_k = static_cast<uint32_t>(tiling.split_k),
                                                    .splits = static_cast<uint32_t>(tiling.splits),
                                                    .tall = tiling.tile_m == 128},
                          tiling.tiles * tiling.splits));
  uint64_t column = 0;
  for (size_t i = 0; i < (p.swiglu ? 1 : w.count); ++i) {
    kernels::q4_linear_sum sum{.parts = parts,
                               .y = p.y[i],
                               .m = static_cast<uint32_t>(p.m),
                               .n = static_cast<uint32_t>(w.n[i]),
                               .column = static_cast<uint32_t>(column),
                               .columns = static_cast<uint32_t>(columns),
                               .split_stride = static_cast<uint32_t>(split_stride),
                               .splits = static_cast<uint32_t>(tiling.splits),
                               .has_bias = w.bias.has_value(),
                               .has_residual = p.residual.has_value(),
                               .swiglu = p.swiglu};
    if (w.bias) sum.bias = *w.bias;
    if (p.residual) sum.residual = *p.residual;
    SCONCE_DO(plan.dispatch(sum, div_ceil(p.m * w.n[i], 256)));
    column += w.n[i];
  }
  return {};
}

}  // namespace sconce::ops
