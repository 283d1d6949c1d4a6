// Which adapters there are, and which one to take.
#pragma once

#include <memory>
#include <span>

#include "sconce/device.h"
#include "webgpu/loader.h"

namespace sconce::webgpu {

// An adapter with the instance that it came from.
struct Adapter {
  std::shared_ptr<Handle<WGPUInstance>> instance;
  Handle<WGPUAdapter> adapter;
  AdapterInfo info;
};

// Every adapter of this machine, best first: discrete, integrated, software, and of the software ones lavapipe first.
//
// Software drivers for Vulkan are looked for only when there is no hardware or `software` is set. lavapipe is among the
// system's drivers where it is installed; SwiftShader comes inside Chromium, where the Vulkan loader does not look. So
// unless the environment says which drivers to use (VK_DRIVER_FILES or VK_ICD_FILENAMES), an instance of its own is
// made for each of the two with VK_ICD_FILENAMES set while the Vulkan loader reads it.
//
// Dawn's Null adapter, which accepts every call and computes nothing, is left out. The error says so when it is the
// only one.
Result<std::vector<Adapter>> find_adapters(const Library& library, bool software);

// The index of the adapter that a selector names (DeviceOptions::adapter) among adapters in order of preference.
Result<size_t> choose_adapter(std::span<const AdapterInfo> adapters, std::string_view selector);

}  // namespace sconce::webgpu
