#include "sconce/device.h"

#include "kernels.h"
#include "webgpu/gpu.h"

namespace sconce {

const char* name_of(AdapterClass adapter_class) {
  switch (adapter_class) {
    case AdapterClass::discrete:
      return "discrete";
    case AdapterClass::integrated:
      return "integrated";
    case AdapterClass::software:
      return "software";
  }
  return "unknown";
}

std::string AdapterInfo::to_string() const {
  return fmt::format("{}, {}, {}, driver {}", name, name_of(adapter_class), backend,
                     driver.empty() ? "unknown" : driver);
}

Result<Device> Device::open(const DeviceOptions& options) {
  SCONCE_TRY(auto gpu, webgpu::Gpu::open(options, kernels::all()));
  return Device(std::move(gpu));
}

Result<std::vector<AdapterInfo>> Device::list(const DeviceOptions& options) {
  SCONCE_TRY(webgpu::Library library, webgpu::load_library(options.webgpu_function));
  SCONCE_TRY(std::vector<webgpu::Adapter> adapters, webgpu::find_adapters(library, true));
  std::vector<AdapterInfo> infos;
  for (webgpu::Adapter& adapter : adapters) infos.push_back(std::move(adapter.info));
  return infos;
}

const AdapterInfo& Device::adapter() const {
  return gpu_->adapter();
}
DeviceMode Device::mode() const {
  return gpu_->mode();
}
Result<void> Device::check() const {
  return gpu_->check();
}

}  // namespace sconce
