#include "ops/linear/q4_packing.h"

#include "base/math.h"
#include "kernels.h"
#include "ops/node_plan.h"

namespace sconce::ops {
namespace {

constexpr uint64_t kBlockBytes = 16;  // 32 weights

uint64_t row_bytes(const Shape& shape) {
  return shape.rank() == 2 ? static_cast<uint64_t>(shape[1]) : 0;
}

Result<void> pack(const PackCall& call, bool high_first, NodePlan& plan) {
  const uint64_t bytes = row_bytes(call.shape);
  return plan.dispatch(kernels::q4_pack{.raw = call.raw,
                                        .blocks = call.part,
                                        .rows = call.raw_rows,
                                        .row_bytes = static_cast<uint32_t>(bytes),
                                        .first_row = call.to_row + call.raw_first - call.first_row,
                                        .part_rows = call.part_rows,
                                        .high_first = high_first},
                       div_ceil(div_ceil(bytes, kBlockBytes) * call.raw_rows, 64));
}

}  // namespace

uint64_t q4_packed_bytes(const Shape& shape, Dtype, uint32_t rows) {
  return div_ceil(row_bytes(shape), kBlockBytes) * kBlockBytes * rows;
}

Result<void> pack_q4(const PackCall& call, NodePlan& plan) {
  return pack(call, /*high_first=*/false, plan);
}

Result<void> pack_q4_high_first(const PackCall& call, NodePlan& plan) {
  return pack(call, /*high_first=*/true, plan);
}

uint64_t column_bytes(const Shape& shape, Dtype, uint32_t rows) {
  return uint64_t{rows} * sizeof(float) * (shape.rank() == 2 ? static_cast<uint64_t>(shape[0]) : 1);
}

Result<void> pack_columns(const PackCall& call, NodePlan& plan) {
  return plan.dispatch(kernels::pack_columns{.raw = call.raw,
                                             .columns = call.part,
                                             .groups = call.raw_rows,
                                             .stored_rows = static_cast<uint32_t>(call.shape.back()),
                                             .first_group = call.raw_first,
                                             .part_rows = call.part_rows,
                                             .first_row = call.first_row,
                                             .rows = call.rows,
                                             .to_row = call.to_row},
                       div_ceil(uint64_t{call.raw_rows} * call.rows, 64));
}

}  // namespace sconce::ops
