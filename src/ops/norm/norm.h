// Normalisations.
#pragma once

#include <limits>

#include "ops/contract.h"

namespace sconce::ops {

constexpr double kRmsNormEps = std::numeric_limits<float>::epsilon();  // where a program gives none

Result<void> plan_rms_norm(const Call& call, NodePlan& plan);
// The same for operands [rows, width] that another operator normalises.
Result<void> plan_rms_norm_of(const Operand& x, const Operand& weight, const Operand& y, uint64_t rows, uint64_t width,
                              double eps, const record::Capabilities& device, NodePlan& plan);
Result<void> plan_layer_norm(const Call& call, NodePlan& plan);
Result<void> plan_group_norm(const Call& call, NodePlan& plan);
Result<void> plan_batch_norm(const Call& call, NodePlan& plan);

}  // namespace sconce::ops
