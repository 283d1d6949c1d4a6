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
  bool tall = false;
  uint64_t splits = 1, split_k = 0;
};

// About two workgroups for each of a large GPU's 132 processors: tall tiles decode each weight for more tokens, small
// ones and parts of k give more workgroups. Measured on 7 shapes of one H200 (docs/performance.md).
Tiling choose_tiling(const Q4MatrixProduct& p, uint64_t max_bytes) {
  constexpr uint64_t kWorkgroups = 256, kLeastSplit = 512, kMostSplits = 8;
  Tiling tiling;
  const uint64_t row_tiles = div_ceil(p.rows, kTileRows);
  tiling.tall = p.m > 64 && row_tiles * div_ceil(p.m, 128) >= kWorkgroups / 4;
  const uint64_t tile_m = tiling.tall ? 128 : 64;
  const uint64_t tiles = row_tiles * div_ceil(p.m, tile_m);
  const uint64_t part_bytes = tiles * tile_m * kTileRows * sizeof(float);
  const uint64_t splits =
      std::min({kMostSplits, kWorkgroups / tiles, p.k / kLeastSplit, max_bytes / std::max<uint64_t>(1, part_bytes)});
  tiling.split_k = round_up(div_ceil(p.k, std::max<uint64_t>(1, splits)), 32);
  tiling.splits = div_ceil(p.k, tiling.split_k);
  return tiling;
}

uint64_t padded_tokens(const Q4MatrixProduct& p, const Tiling& tiling) {
  return round_up(p.m, tiling.tall ? 128 : 64);
}

}  // namespace

bool fits_matrix_unit(const Q4MatrixProduct& p, const record::Capabilities& device) {
  if (!device.f16_products || !record::has_matrix_16(device)) return false;
  const auto& kernel = kernels::q4_linear_matrix::info();
  if (kernel.workgroup_bytes > device.max_workgroup_storage_bytes) return false;
  if (p.m < kFewestTokens || p.k % 32 != 0 || p.group_size % 32 != 0) return false;
  // Less than half of the last tile of rows may be empty.
  if (p.rows < kTileRows / 2) return false;
  const uint64_t part_bytes = round_up(p.m, 128) * round_up(p.rows, kTileRows) * sizeof(float);
  return part_bytes <= device.max_storage_binding_bytes;
}

Result<Q4MatrixParts> plan_q4_matrix(const Q4MatrixProduct& p, const record::Capabilities& device, NodePlan& plan) {
  const Tiling tiling = choose_tiling(p, device.max_storage_binding_bytes);
  Q4MatrixParts parts;
  parts.m = p.m;
  parts.columns = round_up(p.rows, kTileRows);
  parts.split_stride = padded_tokens(p, tiling) * parts.columns;
  parts.splits = tiling.splits;
  parts.parts = plan.scratch(parts.splits * parts.split_stride * sizeof(float));
  const uint64_t tiles = parts.split_stride / ((tiling.tall ? 128 : 64) * kTileRows);
  SCONCE_DO(plan.dispatch(kernels::q4_linear_matrix{.x = p.x,
                                                    .blocks = p.blocks,
                                                    .scales = p.scales,
                                                    .parts = parts.parts,
                                                    .m = static_cast<uint32_t>(p.m),
                                                    .k = static_cast<uint32_t>(p.k),
                                                    .rows = static_cast<uint32_t>(p.rows),
                                                    .first_row = static_cast<uint32_t>(p.first_row),
                                                    .group_size = static_cast<uint32_t>(p.group_size),
                                                    .scale_stride = static_cast<uint32_t>(p.scale_stride),
                                                    .split_k = static_cast<uint32_t>(tiling.split_k),
                                                    .splits = static_cast<uint32_t>(tiling.splits),
                                                    .tall = tiling.tall},
                          tiles * tiling.splits));
  return parts;
}

Result<void> plan_q4_matrix_output(const Q4MatrixParts& parts, const Q4MatrixOutput& output, NodePlan& plan) {
  return plan.dispatch(
      kernels::q4_linear_sum{.parts = parts.parts,
                             .addend = output.addend,
                             .y = output.y,
                             .m = static_cast<uint32_t>(parts.m),
                             .n = static_cast<uint32_t>(output.n),
                             .y_stride = static_cast<uint32_t>(output.y_stride),
                             .first_y = static_cast<uint32_t>(output.first_y),
                             .first_column = static_cast<uint32_t>(output.first_column),
                             .up_column = static_cast<uint32_t>(output.up_column),
                             .columns = static_cast<uint32_t>(parts.columns),
                             .split_stride = static_cast<uint32_t>(parts.split_stride),
                             .splits = static_cast<uint32_t>(parts.splits),
                             .has_addend = output.addend.kind != Operand::Kind::absent,
                             .addend_stride = static_cast<uint32_t>(output.addend_stride),
                             .gated = output.gated},
      div_ceil(parts.m * output.n, 256));
}

}  // namespace sconce::ops
