// The packing of 4-bit weights (see q4_pack.wgsl for its layout).
#pragma once

#include "ops/packing.h"

namespace sconce::ops {

uint64_t q4_packed_bytes(const Shape& shape, Dtype dtype, uint32_t rows);
Result<void> pack_q4(const PackCall& call, NodePlan& plan);
Result<void> pack_q4_high_first(const PackCall& call, NodePlan& plan);

}  // namespace sconce::ops
