// Shapes, element types and host tensors: what goes into a session and what comes out.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "sconce/result.h"

namespace sconce {

enum class Dtype : uint8_t { f32, f16, f64, i64, i32, u8, i8, boolean };

// "f32", "i64", "bool" and so on.
const char* name_of(Dtype dtype);
// Bytes of one element on the host. (On the GPU an i64 is stored as an i32 and an f64 as an f32.)
size_t size_of(Dtype dtype);

// The dims of a tensor, outermost first. A shape holds up to kMaxRank dims, each from 0 to 2^32-1; rank 0 is a scalar.
class Shape {
 public:
  static constexpr size_t kMaxRank = 8;

  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims) {
    assert(dims.size() <= kMaxRank);
    for (int64_t dim : dims) dims_[rank_++] = dim;
  }
  // The checked way in for dims that come from a file or a caller.
  static Result<Shape> from(std::span<const int64_t> dims);

  size_t rank() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  int64_t operator[](size_t i) const { return dims_[i]; }
  int64_t& operator[](size_t i) { return dims_[i]; }
  int64_t back() const { return dims_[rank_ - 1]; }
  const int64_t* begin() const { return dims_.data(); }
  const int64_t* end() const { return dims_.data() + rank_; }
  std::span<const int64_t> dims() const { return {dims_.data(), rank_}; }
  void push_back(int64_t dim) {
    assert(rank_ < kMaxRank);
    dims_[rank_++] = dim;
  }

  // The number of elements; 1 for a scalar. Shapes made by from() never overflow it.
  uint64_t numel() const {
    uint64_t count = 1;
    for (int64_t dim : *this) count *= static_cast<uint64_t>(dim);
    return count;
  }
  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (size_t i = 0; i < a.rank_; ++i)
      if (a.dims_[i] != b.dims_[i]) return false;
    return true;
  }
  // "[1, 255, 576]".
  std::string to_string() const;

 private:
  std::array<int64_t, kMaxRank> dims_{};
  uint8_t rank_ = 0;
};

// Borrowed host data: row-major, contiguous, little-endian; a bool is one byte of 0 or 1.
struct TensorView {
  Dtype dtype = Dtype::f32;
  Shape shape;
  std::span<const std::byte> bytes;  // shape.numel() * size_of(dtype) of them
};

// Owned host data, in the same layout.
struct Tensor {
  Dtype dtype = Dtype::f32;
  Shape shape;
  std::vector<std::byte> bytes;

  // Copies `values`, of which there must be shape.numel(): Tensor::of<float>({1, 2}, {3.0f, 4.0f}).
  template <typename T>
  static Tensor of(Shape shape, std::span<const T> values);
  template <typename T>
  static Tensor of(Shape shape, std::initializer_list<T> values) {
    return of<T>(shape, std::span<const T>(values.begin(), values.size()));
  }
  // A tensor of zeros.
  static Tensor zeros(Dtype dtype, Shape shape) {
    return {dtype, shape, std::vector<std::byte>(shape.numel() * size_of(dtype))};
  }

  // The elements, when T is the C++ type of dtype.
  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <typename T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  operator TensorView() const { return {dtype, shape, bytes}; }
};

template <typename T>
constexpr Dtype dtype_of = Dtype::f32;
template <>
inline constexpr Dtype dtype_of<double> = Dtype::f64;
template <>
inline constexpr Dtype dtype_of<int64_t> = Dtype::i64;
template <>
inline constexpr Dtype dtype_of<int32_t> = Dtype::i32;
template <>
inline constexpr Dtype dtype_of<uint8_t> = Dtype::u8;
template <>
inline constexpr Dtype dtype_of<int8_t> = Dtype::i8;
template <>
inline constexpr Dtype dtype_of<bool> = Dtype::boolean;

template <typename T>
Tensor Tensor::of(Shape shape, std::span<const T> values) {
  assert(values.size() == shape.numel());
  auto bytes = std::as_bytes(values);
  return {dtype_of<T>, shape, std::vector<std::byte>(bytes.begin(), bytes.end())};
}

}  // namespace sconce
