// SHA-256 (FIPS 180-4), for the content keys of constants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sconce {

// Lower-case hex, 64 characters, as ExecuTorch's exporter writes keys.
std::string sha256_hex(std::span<const std::byte> bytes);
// The same of `count` zero bytes, without holding them: about 5 ms a MB.
std::string sha256_hex_of_zeros(uint64_t count);

}  // namespace sconce
