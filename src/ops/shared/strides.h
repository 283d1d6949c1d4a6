// Index arithmetic on the host, shared by all operators that walk tensors with strides.
#pragma once

#include <array>

#include "base/math.h"

namespace sconce::ops {

// Elements between neighbours along each dim of a tensor; unused dims are 0.
using Strides = std::array<int64_t, Shape::kMaxRank>;

Strides row_major_strides(const Shape& shape);

// The shape that two operands broadcast to, aligned at their last dims as in torch.
Result<Shape> broadcast_shape(const Shape& a, const Shape& b);

// Strides of an operand of this shape, read at coordinates of the shape that it broadcasts to: 0 where it repeats.
Strides broadcast_strides(const Shape& operand, const Shape& to);

// A box of elements, with the stride of each of up to three operands along each of its dims: what index.wgsl unravels.
// Dims are added outermost first. A dim of size 1 vanishes, and two dims that every operand walks as one are merged, so
// that kernels divide as little as possible.
class StridedBox {
 public:
  // Such a box and 16 bytes of other parameters fill a parameter slot.
  static constexpr size_t kMaxDims = 15;

  void add(int64_t size, int64_t stride0, int64_t stride1 = 0, int64_t stride2 = 0);

  uint64_t numel() const;
  // Where operand k stands at the last element of a box that is not empty.
  int64_t last_offset(size_t k) const;
  // Whether operands 0 and 1 both walk their elements one after the other.
  bool contiguous() const;
  // Makes the box count units of `factor` elements, and divides `offsets` too, if the inner elements of operands 0 and
  // 1 lie side by side and everything divides. Operand 2 must be unused.
  bool widen(uint32_t factor, std::array<int64_t, 2>& offsets);

  // At least 1: a box of one element has a dim of size 1.
  uint32_t rank() const { return rank_ == 0 ? 1 : static_cast<uint32_t>(rank_); }
  // (size, stride0, stride1, stride2) of each dim, as kernels take them; an error when there are more than N.
  template <size_t N>
  Result<std::array<uint32_t, 4 * N>> dims() const {
    SCONCE_DO(check_rank(N));
    std::array<uint32_t, 4 * N> packed = {};
    pack(packed.data());
    return packed;
  }

 private:
  struct Dim {
    int64_t size;
    std::array<int64_t, 3> strides;
  };
  Result<void> check_rank(size_t most) const;
  void pack(uint32_t* to) const;

  std::array<Dim, kMaxDims> dims_;
  size_t rank_ = 0;
  size_t refused_ = 0;  // dims beyond kMaxDims
};

}  // namespace sconce::ops
