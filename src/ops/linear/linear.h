// Products with a matrix: linears over 4-bit weights, and f32 products of any two operands.
#pragma once

#include "ops/contract.h"

namespace sconce::ops {

Result<void> plan_linear_q4gsw(const Call& call, NodePlan& plan);
Result<void> plan_linear_dq8ca_q4gsw(const Call& call, NodePlan& plan);  // 8-bit activations
Result<void> plan_linear_qcs4w(const Call& call, NodePlan& plan);
Result<void> plan_q4_linear(const Call& call, NodePlan& plan);  // what passes make of these two and their neighbours
Result<void> plan_linear(const Call& call, NodePlan& plan);
Result<void> plan_mm(const Call& call, NodePlan& plan);
Result<void> plan_bmm(const Call& call, NodePlan& plan);
Result<void> plan_addmm(const Call& call, NodePlan& plan);

}  // namespace sconce::ops
