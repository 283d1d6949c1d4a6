#include "webgpu/adapters.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "webgpu/scoped_variable.h"

namespace sconce::webgpu {
namespace {

// ---- one instance ----

Handle<WGPUInstance> make_instance(const Api& api) {
  // Subgroup matrices are offered to instances that allow experimental features.
  const char* unsafe[] = {"allow_unsafe_apis"};
  dawn::TogglesDescriptor toggles;
  toggles.enabled = unsafe, toggles.enabled_count = 1;
  WGPUInstanceFeatureName features[] = {WGPUInstanceFeatureName_TimedWaitAny};
  WGPUInstanceDescriptor descriptor = WGPU_INSTANCE_DESCRIPTOR_INIT;
  descriptor.requiredFeatureCount = 1, descriptor.requiredFeatures = features;
  descriptor.nextInChain = &toggles.chain;
  WGPUInstance instance = api.CreateInstance(&descriptor);
  if (!instance) {
    descriptor.nextInChain = nullptr;
    instance = api.CreateInstance(&descriptor);
  }
  return {instance, api.InstanceRelease};
}

WGPUAdapter request_adapter(const Api& api, WGPUInstance instance, const WGPURequestAdapterOptions& options) {
  WGPUAdapter found = nullptr;
  WGPURequestAdapterCallbackInfo callback = WGPU_REQUEST_ADAPTER_CALLBACK_INFO_INIT;
  callback.mode = WGPUCallbackMode_WaitAnyOnly;
  callback.userdata1 = &found;
  callback.callback = [](WGPURequestAdapterStatus, WGPUAdapter adapter, WGPUStringView, void* to, void*) {
    *static_cast<WGPUAdapter*>(to) = adapter;
  };
  WGPUFutureWaitInfo wait = {api.InstanceRequestAdapter(instance, &options, callback), false};
  api.InstanceWaitAny(instance, 1, &wait, UINT64_MAX);
  return found;
}

// NVIDIA's Vulkan driver has f16, but Dawn offers it only with this toggle (it failed a conformance test of textures).
Handle<WGPUAdapter> request_adapter(const Api& api, WGPUInstance instance, WGPUPowerPreference power, bool fallback) {
  const char* f16[] = {"vulkan_enable_f16_on_nvidia"};
  dawn::TogglesDescriptor toggles;
  toggles.enabled = f16, toggles.enabled_count = 1;
  WGPURequestAdapterOptions options = WGPU_REQUEST_ADAPTER_OPTIONS_INIT;
  options.powerPreference = power;
  options.forceFallbackAdapter = fallback;
  options.nextInChain = &toggles.chain;
  WGPUAdapter adapter = request_adapter(api, instance, options);
  if (!adapter) {
    options.nextInChain = nullptr;
    adapter = request_adapter(api, instance, options);
  }
  return {adapter, api.AdapterRelease};
}

// ---- what an adapter says ----

const char* name_of(WGPUBackendType backend) {
  switch (backend) {
    case WGPUBackendType_Null:
      return "Null";
    case WGPUBackendType_WebGPU:
      return "WebGPU";
    case WGPUBackendType_D3D11:
      return "D3D11";
    case WGPUBackendType_D3D12:
      return "D3D12";
    case WGPUBackendType_Metal:
      return "Metal";
    case WGPUBackendType_Vulkan:
      return "Vulkan";
    case WGPUBackendType_OpenGL:
      return "OpenGL";
    case WGPUBackendType_OpenGLES:
      return "OpenGL ES";
    default:
      return "unknown";
  }
}

AdapterClass class_of(WGPUAdapterType type) {
  switch (type) {
    case WGPUAdapterType_DiscreteGPU:
      return AdapterClass::discrete;
    case WGPUAdapterType_CPU:
      return AdapterClass::software;
    default:
      return AdapterClass::integrated;  // unknown ones too: nothing then relies on memory of their own
  }
}

std::vector<std::string> features_of(const Api& api, WGPUAdapter adapter) {
  constexpr std::pair<WGPUFeatureName, const char*> kUsed[] = {
      {WGPUFeatureName_ShaderF16, "shader-f16"},
      {WGPUFeatureName_Subgroups, "subgroups"},
      {dawn::kSubgroupSizeControl, "subgroup-size-control"},
      {dawn::kSubgroupMatrix, "subgroup-matrix"},
      {WGPUFeatureName_TimestampQuery, "timestamp-query"},
  };
  std::vector<std::string> names;
  for (auto [feature, name] : kUsed)
    if (api.AdapterHasFeature(adapter, feature)) names.push_back(name);
  return names;
}

AdapterInfo describe(const Api& api, WGPUAdapter adapter) {
  WGPUAdapterInfo info = WGPU_ADAPTER_INFO_INIT;
  api.AdapterGetInfo(adapter, &info);
  WGPULimits limits = WGPU_LIMITS_INIT;
  api.AdapterGetLimits(adapter, &limits);
  AdapterInfo described{.name = text(info.device),
                        .vendor = text(info.vendor),
                        .driver = text(info.description),
                        .backend = name_of(info.backendType),
                        .adapter_class = class_of(info.adapterType),
                        .features = features_of(api, adapter),
                        .limits = {.max_buffer_bytes = limits.maxBufferSize,
                                   .max_storage_binding_bytes = limits.maxStorageBufferBindingSize,
                                   .max_storage_buffers = limits.maxStorageBuffersPerShaderStage,
                                   .max_workgroup_storage_bytes = limits.maxComputeWorkgroupStorageSize,
                                   .max_invocations_per_workgroup = limits.maxComputeInvocationsPerWorkgroup,
                                   .max_workgroups_per_dimension = limits.maxComputeWorkgroupsPerDimension,
                                   .subgroup_min_size = info.subgroupMinSize,
                                   .subgroup_max_size = info.subgroupMaxSize}};
  api.AdapterInfoFreeMembers(info);
  return described;
}

// ---- all instances ----

bool same_adapter(const AdapterInfo& a, const AdapterInfo& b) {
  return a.name == b.name && a.driver == b.driver && a.backend == b.backend;
}

// Adds the adapters of a new instance that are not in the list yet. An instance gives its best adapter for each
// preference, not a list, so the question is asked in three ways. Returns whether the Null adapter was among them.
bool add_adapters(const Library& library, std::vector<Adapter>& adapters) {
  const Api& api = library.api;
  auto instance = std::make_shared<Handle<WGPUInstance>>(make_instance(api));
  if (!*instance) return false;
  constexpr std::pair<WGPUPowerPreference, bool> kQuestions[] = {{WGPUPowerPreference_HighPerformance, false},
                                                                 {WGPUPowerPreference_LowPower, false},
                                                                 {WGPUPowerPreference_Undefined, true}};
  bool null_adapter = false;
  for (auto [power, fallback] : kQuestions) {
    Handle<WGPUAdapter> adapter = request_adapter(api, instance->get(), power, fallback);
    if (!adapter) continue;
    AdapterInfo info = describe(api, adapter.get());
    if (info.backend == "Null") {
      null_adapter = true;
    } else if (std::none_of(adapters.begin(), adapters.end(),
                            [&](const Adapter& a) { return same_adapter(a.info, info); })) {
      adapters.push_back({instance, std::move(adapter), std::move(info)});
    }
  }
  return null_adapter;
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value;
}

// Driver files of lavapipe (lvp_icd.json, on some systems with the processor in its name) and of SwiftShader.
std::vector<std::string> software_driver_files() {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  std::error_code error;
  for (const char* folder : {"/usr/share/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/etc/vulkan/icd.d"})
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
      if (entry.path().filename().string().starts_with("lvp_icd")) files.push_back(entry.path().string());
  for (const char* folder :
       {"/usr/lib/chromium", "/usr/lib64/chromium", "/opt/google/chrome", "/usr/lib/chromium-browser"})
    if (fs::path file = fs::path(folder) / "vk_swiftshader_icd.json"; fs::exists(file, error))
      files.push_back(file.string());
  return files;
}

bool is_lavapipe(const AdapterInfo& info) {
  return info.name.find("llvmpipe") != std::string::npos;
}

std::string lower(std::string_view text) {
  std::string lowered(text);
  for (char& c : lowered) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lowered;
}

}  // namespace

Result<std::vector<Adapter>> find_adapters(const Library& library, bool software) {
  std::vector<Adapter> adapters;
  bool null_adapter = add_adapters(library, adapters);
  if ((software || adapters.empty()) && !is_set("VK_DRIVER_FILES") && !is_set("VK_ICD_FILENAMES")) {
    for (const std::string& file : software_driver_files()) {
      if (!software && !adapters.empty()) break;
      ScopedVariable variable("VK_ICD_FILENAMES", file);
      add_adapters(library, adapters);
    }
  }
  if (adapters.empty())
    return fail(ErrorCode::not_found,
                "The WebGPU library ({}) finds no GPU and no software driver{}. Install a Vulkan driver (Debian and "
                "Ubuntu: the package "
                "mesa-vulkan-drivers 25 or later, which also holds the software driver lavapipe), or name one in "
                "VK_DRIVER_FILES.",
                library.origin,
                null_adapter ? ": it offers only its Null adapter, which accepts every call and computes nothing" : "");
  std::stable_sort(adapters.begin(), adapters.end(), [](const Adapter& a, const Adapter& b) {
    if (a.info.adapter_class != b.info.adapter_class) return a.info.adapter_class < b.info.adapter_class;
    return is_lavapipe(a.info) && !is_lavapipe(b.info);
  });
  return adapters;
}

Result<size_t> choose_adapter(std::span<const AdapterInfo> adapters, std::string_view selector) {
  if (selector.empty() && !adapters.empty()) return 0;
  std::string wanted = lower(selector), all;
  for (size_t i = 0; i < adapters.size(); ++i) {
    const AdapterInfo& info = adapters[i];
    if (wanted == sconce::name_of(info.adapter_class)) return i;
    for (const std::string* field : {&info.name, &info.vendor, &info.driver})
      if (lower(*field).find(wanted) != std::string::npos) return i;
    all += fmt::format("\n  {}", info.to_string());
  }
  return fail(ErrorCode::not_found, "No adapter is named '{}'. There are:{}", selector, all);
}

}  // namespace sconce::webgpu
