// An open GPU device: where models are loaded and run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sconce/adapter.h"
#include "sconce/result.h"

namespace sconce {

namespace webgpu {
class Gpu;  // the driver's side of a device (src/webgpu/gpu.h)
}

enum class DeviceMode {
  checked,  // WebGPU validates every call and shaders check their bounds: a defect becomes an error
  fast,     // neither is done: a defect inside the GPU API may end the process or go unnoticed
};

// Lowers what a device is used for, so that a smaller device can be tried on a larger one. A value of 0 keeps the
// device's own limit, and a value above it has no effect.
struct LoweredCapabilities {
  bool f16 = true;
  bool subgroups = true;
  bool subgroup_matrix = true;
  bool timestamps = true;
  bool packed_dot = true;
  std::optional<AdapterClass> adapter_class;  // whose kernels are chosen, instead of the adapter's own
  uint32_t max_workgroups_per_dimension = 0;
  uint32_t max_invocations_per_workgroup = 0;
  uint32_t max_workgroup_storage_bytes = 0;
  uint32_t max_storage_buffers = 0;
  uint64_t max_storage_binding_bytes = 0;
  uint64_t max_buffer_bytes = 0;
};

struct DeviceOptions {
  // Empty: the best adapter, discrete before integrated before software, lavapipe before SwiftShader. Otherwise a class
  // ("discrete", "integrated", "software") or a part of an adapter's name, vendor or driver, in any case
  // ("swiftshader").
  std::string adapter;
  DeviceMode mode = DeviceMode::checked;
  LoweredCapabilities lowered;

  // Compiled pipelines are kept on disk between processes, in a folder of this one; empty means $XDG_CACHE_HOME/sconce
  // or
  // ~/.cache/sconce.
  bool cache = true;
  std::string cache_dir;

  // The WebGPU that the host already has: returns the function of a name ("wgpuCreateInstance"), or null. When empty,
  // Sconce looks for Dawn by itself.
  std::function<void*(std::string_view name)> webgpu_function;
};

// Owns a WebGPU device. Models keep the device alive, so it may be dropped once they are loaded.
//
// A device and all that belongs to it are used by one thread at a time. Opening one takes about 0.2 s.
class Device {
 public:
  // Errors: not_found when there is no WebGPU library, no usable adapter, or none that the selector names; the message
  // lists what was tried and what to install.
  static Result<Device> open(const DeviceOptions& options = {});
  // The adapters to choose from, in the order of preference. Errors as of open().
  static Result<std::vector<AdapterInfo>> list(const DeviceOptions& options = {});

  const AdapterInfo& adapter() const;
  DeviceMode mode() const;
  // An error with the reason once the device is lost (the driver was reset, the GPU was removed).
  Result<void> check() const;

  const std::shared_ptr<webgpu::Gpu>& gpu() const { return gpu_; }

 private:
  explicit Device(std::shared_ptr<webgpu::Gpu> gpu) : gpu_(std::move(gpu)) {}
  std::shared_ptr<webgpu::Gpu> gpu_;
};

}  // namespace sconce
