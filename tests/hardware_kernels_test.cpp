// Kernels that no software adapter runs: the hash of each text that last passed the operator cases on real hardware.
// After a change, run ops_test on a device with a matrix unit (docs/building.md), then enter the new hash here.
#include <gtest/gtest.h>

#include <map>

#include "base/sha256.h"
#include "kernels.h"

namespace sconce {
namespace {

// Passed on 2026-12-01 on an NVIDIA H200, driver 580.159.04.
const std::map<std::string_view, std::string> kPassed = {
    {"attention_matrix", "15096f7d0b88ee7f0e32f7de4e6f737d6b1d1b105d43474e3436dd4d507f8268"},
    {"q4_linear_matrix", "dff098d41fe6fbb22e4934a0ec8ee585493e73b8cd2a793c5e95c0b3dd1d92b8"},
    {"q4_linear_subgroups", "2018f91eadd145925b784ad208b5b2a3d2cc91cfcdcd17ca6bc055c6a2142a5d"},
};

TEST(HardwareKernels, HaveThePassedText) {
  size_t found = 0;
  for (const record::KernelInfo& kernel : kernels::all()) {
    const auto passed = kPassed.find(kernel.name);
    EXPECT_FALSE(kernel.matrix && passed == kPassed.end()) << kernel.name << " needs an entry here";
    if (passed == kPassed.end()) continue;
    ++found;
    const std::string text = std::string(kernel.enables) + std::string(kernel.source);
    EXPECT_EQ(sha256_hex(std::as_bytes(std::span(text))), passed->second) << kernel.name;
  }
  EXPECT_EQ(found, kPassed.size());
}

}  // namespace
}  // namespace sconce
