// Attention and the caches of keys and values that it reads.
#pragma once

#include "ops/contract.h"

namespace sconce::ops {

Result<void> plan_sdpa_with_kv_cache(const Call& call, NodePlan& plan);
Result<void> plan_rotary_attention(const Call& call, NodePlan& plan);
Result<void> plan_update_cache(const Call& call, NodePlan& plan);
Result<void> plan_sdpa(const Call& call, NodePlan& plan);

}  // namespace sconce::ops
