#include "ops/packing.h"

#include <algorithm>

#include "ops/linear/q4_packing.h"

namespace sconce::ops {
namespace {

uint64_t raw_bytes(const Shape& shape, Dtype dtype, uint32_t rows) {
  const uint64_t all_rows = shape.empty() ? 1 : static_cast<uint64_t>(shape[0]);
  const uint64_t row_elements = all_rows == 0 ? 0 : shape.numel() / all_rows;
  return rows * row_elements * std::min<size_t>(size_of(dtype), 4);
}

constexpr PackingInfo kPackings[] = {
    {"raw", raw_bytes, nullptr},
    {"q4_blocks", q4_packed_bytes, pack_q4},
    {"q4_blocks_high_first", q4_packed_bytes, pack_q4_high_first},
    {"columns", column_bytes, pack_columns, /*rows_are_columns=*/true},
};

}  // namespace

const ConstantPart& part_with(std::span<const ConstantPart> parts, uint64_t row) {
  return *std::ranges::find_if(parts, [&](const ConstantPart& part) { return row < part.end_row(); });
}

const PackingInfo& packing_info(Packing packing) {
  return kPackings[static_cast<size_t>(packing)];
}

}  // namespace sconce::ops
