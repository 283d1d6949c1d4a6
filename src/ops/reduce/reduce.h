// Operators that make one element of many: reductions over any dims, and softmax.
#pragma once

#include "kernels.h"
#include "ops/contract.h"

namespace sconce::ops {

using Reduce = kernels::reduce::Op;
using ArgReduce = kernels::arg_reduce::Op;

// (x, dims, keepdim, ...): no dims mean all of them.
Result<void> plan_reduce_op(const Call& call, NodePlan& plan, Reduce op);
// (x, ...): over all dims.
Result<void> plan_reduce_all_op(const Call& call, NodePlan& plan, Reduce op);
// (x, dim | None, keepdim): an index; None means of the flattened tensor.
Result<void> plan_arg_reduce_op(const Call& call, NodePlan& plan, ArgReduce op);

template <Reduce op>
Result<void> plan_reduce(const Call& call, NodePlan& plan) {
  return plan_reduce_op(call, plan, op);
}
template <Reduce op>
Result<void> plan_reduce_all(const Call& call, NodePlan& plan) {
  return plan_reduce_all_op(call, plan, op);
}
template <ArgReduce op>
Result<void> plan_arg_reduce(const Call& call, NodePlan& plan) {
  return plan_arg_reduce_op(call, plan, op);
}

Result<void> plan_softmax(const Call& call, NodePlan& plan);
Result<void> plan_log_softmax(const Call& call, NodePlan& plan);

// Whether a workgroup should share each of `lines` reductions of `length` elements that lie `stride` apart, rather than
// one invocation do it alone.
bool share_lines(const record::Capabilities& capabilities, uint64_t lines, uint64_t length, int64_t stride);

}  // namespace sconce::ops
