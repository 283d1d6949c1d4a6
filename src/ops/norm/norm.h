// Normalisations.
#pragma once

#include "ops/contract.h"

namespace sconce::ops {

Result<void> plan_rms_norm(const Call& call, NodePlan& plan);
Result<void> plan_layer_norm(const Call& call, NodePlan& plan);
Result<void> plan_group_norm(const Call& call, NodePlan& plan);
Result<void> plan_batch_norm(const Call& call, NodePlan& plan);

}  // namespace sconce::ops
