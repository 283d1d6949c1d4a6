// Integer arithmetic shared by the whole core.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "sconce/tensor.h"

namespace sconce {

constexpr uint64_t div_ceil(uint64_t a, uint64_t b) {
  return (a + b - 1) / b;
}
constexpr uint64_t round_up(uint64_t a, uint64_t multiple) {
  return div_ceil(a, multiple) * multiple;
}

// offset + size, or an error naming `what`, when the sum passes 2^64.
inline Result<uint64_t> checked_end(uint64_t offset, uint64_t size, const char* what) {
  if (offset > UINT64_MAX - size)
    return fail(ErrorCode::corrupt_file, "The {} at offset {} with {} bytes overflows 64 bits.", what, offset, size);
  return offset + size;
}

// A dim index from Python: -rank..rank-1 becomes 0..rank-1. A scalar counts as rank 1, as in torch.
inline Result<size_t> normalize_dim(int64_t dim, size_t rank) {
  int64_t n = rank == 0 ? 1 : static_cast<int64_t>(rank);
  SCONCE_CHECK(dim >= -n && dim < n, "Dim {} is outside {} to {} for a tensor of rank {}.", dim, -n, n - 1, rank);
  return static_cast<size_t>(dim < 0 ? dim + n : dim);
}

}  // namespace sconce

template <>
struct fmt::formatter<sconce::Shape> : fmt::formatter<std::string> {
  template <typename Context>
  auto format(const sconce::Shape& shape, Context& context) const {
    return fmt::formatter<std::string>::format(shape.to_string(), context);
  }
};
template <>
struct fmt::formatter<sconce::Dtype> : fmt::formatter<const char*> {
  template <typename Context>
  auto format(sconce::Dtype dtype, Context& context) const {
    return fmt::formatter<const char*>::format(sconce::name_of(dtype), context);
  }
};
