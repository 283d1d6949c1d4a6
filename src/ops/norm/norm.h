// Normalisations over the innermost dims.
#pragma once

#include "ops/contract.h"

namespace sconce::ops {

Result<void> plan_rms_norm(const Call& call, NodePlan& plan);

}  // namespace sconce::ops
