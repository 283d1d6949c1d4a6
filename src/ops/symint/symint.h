// Operators whose output is a SymInt: computed on the host while a run is planned.
#pragma once

#include "ops/contract.h"

namespace sconce::ops {

enum class SymIntOp { add, sub, mul, floordiv, mod, min, max, eq, ne, lt, le, gt, ge };

Result<void> plan_symint_op(const Call& call, NodePlan& plan, SymIntOp op);

template <SymIntOp op>
Result<void> plan_symint(const Call& call, NodePlan& plan) {
  return plan_symint_op(call, plan, op);
}

Result<void> plan_symint_neg(const Call& call, NodePlan& plan);
Result<void> plan_sym_size(const Call& call, NodePlan& plan);
Result<void> plan_select_as_symint(const Call& call, NodePlan& plan);
Result<void> plan_local_scalar_dense(const Call& call, NodePlan& plan);

}  // namespace sconce::ops
