// From what an adapter offers to what plans may rely on.
#pragma once

#include "record/capabilities.h"
#include "webgpu/adapters.h"

namespace sconce::webgpu {

// What plans may rely on: the adapter's features and limits, its quirks, and what the caller lowers.
record::Capabilities capabilities_of(const Library& library, const Adapter& adapter,
                                     const LoweredCapabilities& lowered);

// The features and limits to request from the adapter, so that the device allows all that `capabilities` say. WebGPU
// has minimum limits; a capability lowered below one of them is held by the plans alone, not by the device.
std::vector<WGPUFeatureName> features_to_request(const Api& api, const Adapter& adapter,
                                                 const record::Capabilities& capabilities);
WGPULimits limits_to_request(const Api& api, const Adapter& adapter, const record::Capabilities& capabilities);

// Corrects what drivers say about themselves wrongly (quirks.cpp).
void apply_quirks(const AdapterInfo& adapter, record::Capabilities& capabilities);

}  // namespace sconce::webgpu
