// What the fuzz targets share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// A target's entry point, as libFuzzer calls it.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace sconce::test {

inline std::vector<std::byte> bytes_of(const uint8_t* data, size_t size) {
  auto bytes = std::as_bytes(std::span(data, size));
  return {bytes.begin(), bytes.end()};
}

}  // namespace sconce::test
