// The choice of the next token on the GPU.
#pragma once

#include "ops/contract.h"

namespace sconce::ops {

Result<void> plan_sample(const Call& call, NodePlan& plan);

}  // namespace sconce::ops
