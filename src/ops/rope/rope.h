// Rotary position embeddings: pairs of a head's elements turn by an angle that depends on the position.
#pragma once

#include "ops/contract.h"

namespace sconce::ops {

Result<void> plan_apply_rotary_emb(const Call& call, NodePlan& plan);
Result<void> plan_apply_rotary_emb_hf(const Call& call, NodePlan& plan);
Result<void> plan_apply_rotary_emb_interleaved(const Call& call, NodePlan& plan);

}  // namespace sconce::ops
