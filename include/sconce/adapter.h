// What a GPU, or a driver that computes on the CPU, says about itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sconce {

enum class AdapterClass : uint32_t {
  discrete,    // its own memory
  integrated,  // shares the host's memory
  software,    // runs on the CPU (lavapipe, SwiftShader): lanes are cheap, barriers and dispatches are not
};

// "discrete", "integrated" or "software": also the names that select an adapter of that class.
const char* name_of(AdapterClass adapter_class);

// Names and units are those of WebGPU's GPUSupportedLimits; bytes unless said otherwise.
struct AdapterLimits {
  uint64_t max_buffer_bytes = 0;
  uint64_t max_storage_binding_bytes = 0;  // of one buffer as a shader sees it
  uint32_t max_storage_buffers = 0;        // in one compute stage
  uint32_t max_workgroup_storage_bytes = 0;
  uint32_t max_invocations_per_workgroup = 0;
  uint32_t max_workgroups_per_dimension = 0;
  uint32_t subgroup_min_size = 0, subgroup_max_size = 0;  // lanes
};

struct AdapterInfo {
  std::string name;     // "NVIDIA H200", "llvmpipe (LLVM 15.0.6, 256 bits)"
  std::string vendor;   // "nvidia", "mesa"
  std::string driver;   // the driver's name and version, as far as the adapter tells
  std::string backend;  // "Vulkan", "Metal", "D3D12"
  AdapterClass adapter_class = AdapterClass::discrete;
  std::vector<std::string> features;  // of those that Sconce uses: "shader-f16", "subgroups", "subgroup-matrix", ...
  AdapterLimits limits;

  // "llvmpipe (LLVM 15.0.6, 256 bits), software, Vulkan, driver Mesa 25.0.7".
  std::string to_string() const;
};

}  // namespace sconce
