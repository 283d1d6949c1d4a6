#include "cli/load.h"

#include "base/error.h"
#include "cli/terminal.h"

namespace sconce::cli {

std::filesystem::path program_path(const std::string& model) {
  const std::filesystem::path path = model;
  return std::filesystem::is_directory(path) ? path / "model.pte" : path;
}

Result<Device> open_device(const GlobalOptions& globals) {
  DeviceOptions options;
  options.adapter = globals.device;
  options.mode = globals.fast ? DeviceMode::fast : DeviceMode::checked;
  options.lowered = globals.lowered;
  auto opened = [&] {
    const SilencedStderr silenced;
    return Device::open(options);
  }();
  SCONCE_TRY(Device device, std::move(opened));
  const AdapterInfo& adapter = device.adapter();
  if (adapter.adapter_class == AdapterClass::software && !globals.quiet)
    fmt::print(stderr, "Running on the CPU through a software adapter: {}.\n", adapter.to_string());
  return device;
}

Result<Model> load_model(Device& device, const std::string& model, const GlobalOptions& globals, bool fill_weights) {
  ProgressBar bar(!globals.quiet);
  LoadOptions options;
  options.fuse = !globals.no_fuse;
  options.precision = globals.precision;
  options.half_caches = globals.half_caches;
  options.data_files = globals.data;
  options.fill_weights = fill_weights;
  options.progress = [&](const LoadProgress& progress) {
    bar.show(fmt::format("Loading {}", progress.stage), progress.done, progress.total);
    return !interrupted();
  };
  return Model::load(device, program_path(model).string(), options);
}

}  // namespace sconce::cli
