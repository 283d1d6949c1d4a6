// What Dawn has and the standard webgpu.h lacks, declared from Dawn's published ABI (release v20261009). Other
// implementations refuse these structs, so every request that chains one is made again without it when it fails.
#pragma once

#include "webgpu/api.h"

namespace sconce::webgpu::dawn {

inline constexpr auto kTogglesType = static_cast<WGPUSType>(0x0005000A);
inline constexpr auto kCacheType = static_cast<WGPUSType>(0x00050007);
inline constexpr auto kSubgroupMatrixConfigsType = static_cast<WGPUSType>(0x0005003B);

inline constexpr auto kSubgroupSizeControl = static_cast<WGPUFeatureName>(0x00000017);
inline constexpr auto kSubgroupMatrix = static_cast<WGPUFeatureName>(0x00050034);

// Chains to an instance, an adapter request or a device, each of which takes the toggles of its own stage.
struct TogglesDescriptor {
  WGPUChainedStruct chain = {nullptr, kTogglesType};
  size_t enabled_count = 0;
  const char* const* enabled = nullptr;
  size_t disabled_count = 0;
  const char* const* disabled = nullptr;
};

// Chains to a device. Dawn calls both functions from threads of its own; it calls load twice, first with a null value
// to learn the size, which load returns (0: nothing is stored).
//
// Releases before 2026 have the two functions at other places of this struct and with each size after its pointer. With
// them `load` gets a pointer as its key_size, so it must refuse keys above kMaxCacheKeyBytes.
inline constexpr size_t kMaxCacheKeyBytes = 1 << 20;
using CacheLoad = size_t (*)(size_t key_size, const void* key, size_t value_size, void* value, void* userdata1,
                             void* userdata2);
using CacheStore = void (*)(size_t key_size, const void* key, size_t value_size, const void* value, void* userdata1,
                            void* userdata2);
template <typename Function>
struct CacheCallbackInfo {
  WGPUChainedStruct* next = nullptr;
  Function callback = nullptr;
  void* userdata1 = nullptr;
  void* userdata2 = nullptr;
};
struct CacheDescriptor {
  WGPUChainedStruct chain = {nullptr, kCacheType};
  WGPUStringView isolation_key = {nullptr, 0};
  CacheCallbackInfo<CacheLoad> load;
  CacheCallbackInfo<CacheStore> store;
};

enum class MatrixComponent : uint32_t { f32 = 1, f16 = 2, u32 = 3, i32 = 4, u8 = 5, i8 = 6 };

struct SubgroupMatrixConfig {
  MatrixComponent component;
  MatrixComponent result_component;
  uint32_t m, n, k;
  uint32_t min_subgroup_size, max_subgroup_size;
};

// Chains to WGPUAdapterInfo; `configs` belongs to Dawn until free_configs.
struct SubgroupMatrixConfigs {
  WGPUChainedStruct chain = {nullptr, kSubgroupMatrixConfigsType};
  size_t count = 0;
  const SubgroupMatrixConfig* configs = nullptr;
};

inline constexpr const char* kFreeMatrixConfigs = "wgpuAdapterPropertiesSubgroupMatrixConfigsFreeMembers";
using FreeMatrixConfigs = void (*)(SubgroupMatrixConfigs configs);

}  // namespace sconce::webgpu::dawn
