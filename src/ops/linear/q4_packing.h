// The packings of 4-bit weights (layout: q4_pack.wgsl) and of their scales (q4_pack_scales.wgsl).
#pragma once

#include "ops/packing.h"

namespace sconce::ops {

uint64_t q4_packed_bytes(const Shape& shape, Dtype dtype, uint32_t rows);
Result<void> pack_q4(const PackCall& call, NodePlan& plan);
Result<void> pack_q4_high_first(const PackCall& call, NodePlan& plan);

// Scales are stored as [groups, >= rows], or as [>= rows] where a row has one.
uint64_t q4_scales_bytes(const Shape& shape, Dtype dtype, uint32_t rows);
Result<void> pack_q4_scales(const PackCall& call, NodePlan& plan);

}  // namespace sconce::ops
