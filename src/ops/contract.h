// The contract of an operator: a pure function from a Call (arguments, live shapes, capabilities) to a NodePlan (output
// shapes, dispatches). It holds the operator's shape arithmetic, its checks and its choice of kernels; there is no
// other place. It runs again whenever one of its input shapes or SymInts changed, so it must be cheap and free of
// state.
#pragma once

#include "base/math.h"
#include "ops/call.h"
#include "ops/node_plan.h"

namespace sconce::ops {

using PlanFunction = Result<void> (*)(const Call& call, NodePlan& plan);

// What is known of an operator without planning it.
struct Effects {
  int8_t alias_of = -1;         // the output holds the same bytes as this argument (reshapes); -1: new bytes
  int8_t writes[2] = {-1, -1};  // arguments that are written in place (KV caches)
  bool on_host = false;         // sets a SymInt; needs no GPU
};

struct OperatorInfo {
  std::string_view name;  // as in a delegate blob: "aten.add.Tensor"
  PlanFunction plan;
  Effects effects;
};

// Every operator, sorted by name.
std::span<const OperatorInfo> catalog();
// Null when there is no operator of that name.
const OperatorInfo* find_operator(std::string_view name);

}  // namespace sconce::ops
