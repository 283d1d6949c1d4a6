// Tables of rows, picked by index.
#pragma once

#include "ops/contract.h"

namespace sconce::ops {

Result<void> plan_embedding(const Call& call, NodePlan& plan);
Result<void> plan_q4_embedding(const Call& call, NodePlan& plan);

}  // namespace sconce::ops
