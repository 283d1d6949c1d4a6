#include "sconce/tensor.h"

#include "base/error.h"

namespace sconce {

const char* name_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return "f32";
    case Dtype::f16:
      return "f16";
    case Dtype::f64:
      return "f64";
    case Dtype::i64:
      return "i64";
    case Dtype::i32:
      return "i32";
    case Dtype::u8:
      return "u8";
    case Dtype::i8:
      return "i8";
    case Dtype::boolean:
      return "bool";
  }
  return "unknown";
}

size_t size_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
    case Dtype::i64:
      return 8;
    case Dtype::f32:
    case Dtype::i32:
      return 4;
    case Dtype::f16:
      return 2;
    case Dtype::u8:
    case Dtype::i8:
    case Dtype::boolean:
      return 1;
  }
  return 4;
}

Result<Shape> Shape::from(std::span<const int64_t> dims) {
  SCONCE_CHECK(dims.size() <= kMaxRank, "A tensor has {} dims; Sconce handles up to {}.", dims.size(), kMaxRank);
  // Elements are counted in u32 by the kernels, and 0 * huge must not hide a huge dim.
  uint64_t numel = 1;
  for (int64_t dim : dims) {
    SCONCE_CHECK(dim >= 0 && dim <= UINT32_MAX, "A dim of {} is outside 0 to 2^32-1.", dim);
    numel *= static_cast<uint64_t>(dim == 0 ? 1 : dim);
    SCONCE_CHECK(numel <= UINT32_MAX, "A tensor of shape [{}] has more than 2^32-1 elements.", fmt::join(dims, ", "));
  }
  return Shape(dims);
}

std::string Shape::to_string() const {
  return fmt::format("[{}]", fmt::join(dims(), ", "));
}

}  // namespace sconce
