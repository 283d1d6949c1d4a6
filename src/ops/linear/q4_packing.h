// The packings of 4-bit weights (layout: q4_pack.wgsl), and of their scales and of matrices [K, N] (pack_columns.wgsl).
#pragma once

#include "ops/packing.h"

namespace sconce::ops {

uint64_t q4_packed_bytes(const Shape& shape, Dtype dtype, uint32_t rows);
Result<void> pack_q4(const PackCall& call, NodePlan& plan);
Result<void> pack_q4_high_first(const PackCall& call, NodePlan& plan);

// Stored as [groups, >= rows], or as [>= rows] where a row has one element.
uint64_t column_bytes(const Shape& shape, Dtype dtype, uint32_t rows);
Result<void> pack_columns(const PackCall& call, NodePlan& plan);

}  // namespace sconce::ops
