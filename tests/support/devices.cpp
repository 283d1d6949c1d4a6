#include "support/devices.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

namespace sconce::test {
namespace {

// Closes the devices when the tests are done: SwiftShader does not survive a device that lives until the process ends.
class OpenDevices : public testing::Environment {
 public:
  void TearDown() override { devices.clear(); }
  std::map<Features, Device> devices;
};

OpenDevices& open_devices() {
  static auto* environment = new OpenDevices;  // GoogleTest owns it
  return *environment;
}

const auto* const registered = testing::AddGlobalTestEnvironment(&open_devices());

}  // namespace

Device* device(Features features) {
  auto& devices = open_devices().devices;
  auto found = devices.find(features);
  if (found != devices.end()) return &found->second;
  DeviceOptions options;
  if (const char* adapter = std::getenv("SCONCE_TEST_DEVICE")) options.adapter = adapter;
  if (features == Features::gpu) options.lowered.adapter_class = AdapterClass::discrete;
  if (features == Features::narrow) options.lowered.max_storage_binding_bytes = 10 << 10;
  if (features == Features::plain || features == Features::small)
    options.lowered = {
        .f16 = false, .subgroups = false, .subgroup_matrix = false, .timestamps = false, .packed_dot = false};
  if (features == Features::small) options.lowered.max_workgroups_per_dimension = 8;
  auto opened = Device::open(options);
  if (!opened) {
    ADD_FAILURE() << opened.error().to_string();
    return nullptr;
  }
  return &devices.emplace(features, *std::move(opened)).first->second;
}

}  // namespace sconce::test
