// 4-bit linears of many rows on a device's matrix unit: one dispatch for the product, one for each output.
#pragma once

#include "ops/linear/q4_dispatch.h"

namespace sconce::ops {

// Whether the device has the unit, the caller allows f16 products, and the shapes fit it.
bool fits_matrix_unit(const Q4Product& product, const record::Capabilities& device);

// Of a product without a norm.
Result<void> plan_q4_matrix(const Q4Product& product, const record::Capabilities& device, NodePlan& plan);

}  // namespace sconce::ops
