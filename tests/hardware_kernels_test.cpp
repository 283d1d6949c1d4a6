// Kernels that no software adapter runs: the hash of each text that last passed the operator cases on real hardware.
// After a change, run ops_test on a device with a matrix unit (docs/building.md), then enter the new hash here.
#include <gtest/gtest.h>

#include <map>

#include "base/sha256.h"
#include "kernels.h"

namespace sconce {
namespace {

// Passed on 2026-12-01 on an NVIDIA H200, driver 580.159.04. Since then declarations moved into parts that kernels
// share and comments went out of the texts; the functions are the same. attention_matrix also learned to read caches of
// f16, which has not run there yet.
const std::map<std::string_view, std::string> kPassed = {
    {"attention_matrix", "2ba7f76ace75f35152540caf06c4edd3cc2b9b2792f2398febcf66b5b81db7fa"},
    {"q4_linear_matrix", "ea7abe800652b57d1527561f8d8d5dd06d70d177b029c58475a22a6912593dd7"},
    {"q4_linear_subgroups", "7dc25c9596a07bf817212a3c128ff943668903b0c8ff97e10fe447a04971ddd8"},
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
