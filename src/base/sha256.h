// SHA-256 (FIPS 180-4), for the content keys of constants.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sconce {

// Of a message that comes in pieces.
class Sha256 {
 public:
  void add(std::span<const std::byte> bytes);
  // Lower-case hex, 64 characters. Nothing can be added afterwards.
  std::string finish();

 private:
  void block(const std::byte* data);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> rest_{};  // what does not fill a block yet
  uint64_t size_ = 0;                 // of the message, in bytes
};

// Lower-case hex, 64 characters, as ExecuTorch's exporter writes keys.
std::string sha256_hex(std::span<const std::byte> bytes);
// The same of `count` zero bytes, without holding them: about 5 ms a MB.
std::string sha256_hex_of_zeros(uint64_t count);

}  // namespace sconce
