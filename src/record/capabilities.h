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
  // Not of the device: the caller allows products of f16 operands with f32 sums (LoadOptions::precision).
  bool f16_products = false;

  uint32_t max_workgroups_per_dimension = 65535;
  uint32_t max_invocations_per_workgroup = 256;
  uint32_t max_workgroup_storage_bytes = 16384;
  uint32_t max_storage_buffers = 8;
  uint64_t max_storage_binding_bytes = 128ull << 20;
  uint64_t max_buffer_bytes = 256ull << 20;
};

// Whether the matrix unit multiplies f16 matrices of 16 x 16 into f32 sums, in subgroups of exactly 32.
inline bool has_matrix_16(const Capabilities& c) {
  if (!c.f16 || !c.subgroups || c.subgroup_min_size != 32 || c.subgroup_max_size != 32) return false;
  for (const MatrixConfig& config : c.matrix_configs)
    if (config.m == 16 && config.n == 16 && config.k == 16 && !config.f16_result) return true;
  return false;
}

}  // namespace sconce::record
