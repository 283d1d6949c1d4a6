#include "support/devices.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

namespace sconce::test {

Device* device(Features features) {
  static std::map<Features, Device> devices;
  auto found = devices.find(features);
  if (found != devices.end()) return &found->second;
  DeviceOptions options;
  if (const char* adapter = std::getenv("SCONCE_TEST_DEVICE")) options.adapter = adapter;
  if (features == Features::plain)
    options.lowered = {
        .f16 = false, .subgroups = false, .subgroup_matrix = false, .timestamps = false, .packed_dot = false};
  auto opened = Device::open(options);
  if (!opened) {
    ADD_FAILURE() << opened.error().to_string();
    return nullptr;
  }
  return &devices.emplace(features, *std::move(opened)).first->second;
}

}  // namespace sconce::test
