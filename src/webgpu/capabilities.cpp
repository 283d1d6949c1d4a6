#include "webgpu/capabilities.h"

#include <algorithm>

namespace sconce::webgpu {
namespace {

// Only products of f16 operands are used; the other types of a device's matrix unit are left out.
std::vector<record::MatrixConfig> matrix_configs(const Library& library, WGPUAdapter adapter) {
  if (!library.free_matrix_configs || !library.api.AdapterHasFeature(adapter, dawn::kSubgroupMatrix)) return {};
  dawn::SubgroupMatrixConfigs configs;
  WGPUAdapterInfo info = WGPU_ADAPTER_INFO_INIT;
  info.nextInChain = &configs.chain;
  if (library.api.AdapterGetInfo(adapter, &info) != WGPUStatus_Success) return {};
  std::vector<record::MatrixConfig> found;
  for (const dawn::SubgroupMatrixConfig& c : std::span(configs.configs, configs.count)) {
    bool f16_result = c.result_component == dawn::MatrixComponent::f16;
    if (c.component == dawn::MatrixComponent::f16 && (f16_result || c.result_component == dawn::MatrixComponent::f32))
      found.push_back({.m = c.m, .n = c.n, .k = c.k, .f16_result = f16_result});
  }
  library.free_matrix_configs(configs);
  library.api.AdapterInfoFreeMembers(info);
  return found;
}

template <typename T>
void lower(T& limit, T lowered) {
  if (lowered != 0) limit = std::min(limit, lowered);
}

}  // namespace

record::Capabilities capabilities_of(const Library& library, const Adapter& adapter,
                                     const LoweredCapabilities& lowered) {
  const Api& api = library.api;
  auto has = [&](WGPUFeatureName feature) { return api.AdapterHasFeature(adapter.adapter.get(), feature) != 0; };
  const AdapterLimits& limits = adapter.info.limits;
  record::Capabilities c{
      .adapter_class = lowered.adapter_class.value_or(adapter.info.adapter_class),
      .f16 = lowered.f16 && has(WGPUFeatureName_ShaderF16),
      .subgroups = lowered.subgroups && has(WGPUFeatureName_Subgroups),
      .timestamps = lowered.timestamps && has(WGPUFeatureName_TimestampQuery),
      .packed_dot =
          lowered.packed_dot && api.InstanceHasWGSLLanguageFeature(
                                    adapter.instance->get(), WGPUWGSLLanguageFeatureName_Packed4x8IntegerDotProduct),
      .max_workgroups_per_dimension = limits.max_workgroups_per_dimension,
      .max_invocations_per_workgroup = limits.max_invocations_per_workgroup,
      .max_workgroup_storage_bytes = limits.max_workgroup_storage_bytes,
      .max_storage_buffers = limits.max_storage_buffers,
      .max_storage_binding_bytes = limits.max_storage_binding_bytes,
      .max_buffer_bytes = limits.max_buffer_bytes};
  if (c.subgroups) c.subgroup_min_size = limits.subgroup_min_size, c.subgroup_max_size = limits.subgroup_max_size;
  if (c.f16 && c.subgroups && lowered.subgroup_matrix)
    c.matrix_configs = matrix_configs(library, adapter.adapter.get());
  apply_quirks(adapter.info, c);
  lower(c.max_workgroups_per_dimension, lowered.max_workgroups_per_dimension);
  lower(c.max_invocations_per_workgroup, lowered.max_invocations_per_workgroup);
  lower(c.max_workgroup_storage_bytes, lowered.max_workgroup_storage_bytes);
  lower(c.max_storage_buffers, lowered.max_storage_buffers);
  lower(c.max_storage_binding_bytes, lowered.max_storage_binding_bytes);
  lower(c.max_buffer_bytes, lowered.max_buffer_bytes);
  return c;
}

std::vector<WGPUFeatureName> features_to_request(const Api& api, const Adapter& adapter,
                                                 const record::Capabilities& capabilities) {
  std::vector<WGPUFeatureName> features;
  auto request = [&](bool wanted, WGPUFeatureName feature) {
    if (wanted && api.AdapterHasFeature(adapter.adapter.get(), feature)) features.push_back(feature);
  };
  request(capabilities.f16, WGPUFeatureName_ShaderF16);
  request(capabilities.subgroups, WGPUFeatureName_Subgroups);
  request(capabilities.subgroups, dawn::kSubgroupSizeControl);
  request(!capabilities.matrix_configs.empty(), dawn::kSubgroupMatrix);
  request(capabilities.timestamps, WGPUFeatureName_TimestampQuery);
  return features;
}

WGPULimits limits_to_request(const Api& api, const Adapter& adapter, const record::Capabilities& capabilities) {
  const record::Capabilities least;  // of every WebGPU device
  WGPULimits limits = WGPU_LIMITS_INIT;
  api.AdapterGetLimits(adapter.adapter.get(), &limits);
  limits.nextInChain = nullptr;
  limits.maxComputeWorkgroupsPerDimension =
      std::max(capabilities.max_workgroups_per_dimension, least.max_workgroups_per_dimension);
  limits.maxComputeInvocationsPerWorkgroup =
      std::max(capabilities.max_invocations_per_workgroup, least.max_invocations_per_workgroup);
  limits.maxComputeWorkgroupStorageSize =
      std::max(capabilities.max_workgroup_storage_bytes, least.max_workgroup_storage_bytes);
  limits.maxStorageBuffersPerShaderStage = std::max(capabilities.max_storage_buffers, least.max_storage_buffers);
  limits.maxStorageBufferBindingSize =
      std::max(capabilities.max_storage_binding_bytes, least.max_storage_binding_bytes);
  limits.maxBufferSize = std::max(capabilities.max_buffer_bytes, least.max_buffer_bytes);
  return limits;
}

}  // namespace sconce::webgpu
