#include "ops/shared/strides.h"

#include <algorithm>

namespace sconce::ops {

Strides row_major_strides(const Shape& shape) {
  Strides strides = {};
  int64_t stride = 1;
  for (size_t d = shape.rank(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

Result<Shape> broadcast_shape(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.rank(), b.rank());
  Shape result;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t m = d + a.rank() < rank ? 1 : a[d + a.rank() - rank];
    const int64_t n = d + b.rank() < rank ? 1 : b[d + b.rank() - rank];
    SCONCE_CHECK(m == n || m == 1 || n == 1, "Shapes {} and {} do not broadcast: {} and {} differ and neither is 1.", a,
                 b, m, n);
    result.push_back(m == 1 ? n : m);
  }
  return result;
}

Strides broadcast_strides(const Shape& operand, const Shape& to) {
  const Strides own = row_major_strides(operand);
  const size_t missing = to.rank() - operand.rank();
  Strides strides = {};
  for (size_t d = 0; d < operand.rank(); ++d) strides[d + missing] = operand[d] == 1 ? 0 : own[d];
  return strides;
}

void StridedBox::add(int64_t size, int64_t stride0, int64_t stride1, int64_t stride2) {
  if (size == 1) return;
  const std::array<int64_t, 3> strides = {stride0, stride1, stride2};
  if (rank_ > 0) {
    Dim& outer = dims_[rank_ - 1];
    bool merges = true;
    for (size_t k = 0; k < 3; ++k) merges = merges && outer.strides[k] == size * strides[k];
    if (merges) {
      outer = {outer.size * size, strides};
      return;
    }
  }
  if (rank_ == kMaxDims) {
    ++refused_;
    return;
  }
  dims_[rank_++] = {size, strides};
}

uint64_t StridedBox::numel() const {
  uint64_t count = 1;
  for (size_t d = 0; d < rank_; ++d) count *= static_cast<uint64_t>(dims_[d].size);
  return count;
}

int64_t StridedBox::last_offset(size_t k) const {
  int64_t offset = 0;
  for (size_t d = 0; d < rank_; ++d) offset += (dims_[d].size - 1) * dims_[d].strides[k];
  return offset;
}

bool StridedBox::contiguous() const {
  return rank_ == 0 || (rank_ == 1 && dims_[0].strides[0] == 1 && dims_[0].strides[1] == 1);
}

bool StridedBox::widen(uint32_t factor, std::array<int64_t, 2>& offsets) {
  if (rank_ == 0 || offsets[0] % factor != 0 || offsets[1] % factor != 0) return false;
  Dim& inner = dims_[rank_ - 1];
  if (inner.strides[0] != 1 || inner.strides[1] != 1 || inner.size % factor != 0) return false;
  for (size_t d = 0; d + 1 < rank_; ++d)
    if (dims_[d].strides[0] % factor != 0 || dims_[d].strides[1] % factor != 0) return false;
  inner.size /= factor;
  for (size_t d = 0; d + 1 < rank_; ++d)
    for (int64_t& stride : dims_[d].strides) stride /= factor;
  for (int64_t& offset : offsets) offset /= factor;
  return true;
}

Result<void> StridedBox::check_rank(size_t most) const {
  if (rank_ + refused_ > most)
    return fail(ErrorCode::unsupported, "This operator walks {} dims that do not merge, but its kernel takes {}.",
                rank_ + refused_, most);
  return {};
}

void StridedBox::pack(uint32_t* to) const {
  if (rank_ == 0) std::fill_n(to, 4, 1);
  for (size_t d = 0; d < rank_; ++d) {
    to[4 * d] = static_cast<uint32_t>(dims_[d].size);
    for (size_t k = 0; k < 3; ++k) to[4 * d + 1 + k] = static_cast<uint32_t>(dims_[d].strides[k]);
  }
}

}  // namespace sconce::ops
