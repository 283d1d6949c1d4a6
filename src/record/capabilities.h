// What a device can do, as data. Plans depend on it and on nothing else of the device, so every capability set can be
// tested without the hardware (limits may be set lower than the device's, never higher).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sconce/adapter.h"

namespace sconce::record {

using sconce::AdapterClass;

// One multiply shape of the subgroup-matrix unit: a [m, k] x b [k, n] -> [m, n].
struct MatrixConfig {
  uint32_t m = 0, n = 0, k = 0;
  bool f16_result = false;  // operands are f16; the result is f32 unless this is set
};

// Names and units are those of WebGPU's GPUSupportedLimits; the defaults are the limits that every WebGPU device has.
struct Capabilities {
  AdapterClass adapter_class = AdapterClass::discrete;
  bool f16 = false;        // feature shader-f16
  bool subgroups = false;  // feature subgroups
  uint32_t subgroup_min_size = 4;
  uint32_t subgroup_max_size = 128;
  bool timestamps = false;                   // feature timestamp-query
  bool packed_dot = false;                   // WGSL language feature packed_4x8_integer_dot_product
  std::vector<MatrixConfig> matrix_configs;  // empty without subgroup matrices

  uint32_t max_workgroups_per_dimension = 65535;
  uint32_t max_invocations_per_workgroup = 256;
  uint32_t max_workgroup_storage_bytes = 16384;
  uint32_t max_storage_buffers = 8;
  uint64_t max_storage_binding_bytes = 128ull << 20;
  uint64_t max_buffer_bytes = 256ull << 20;
};

}  // namespace sconce::record
