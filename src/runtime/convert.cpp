#include "runtime/convert.h"

#include <cstring>

#include "base/math.h"

namespace sconce::runtime {
namespace {

// Host bytes may lie at any address, so elements are copied out one by one.
template <typename T>
T element(std::span<const std::byte> bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void store(std::span<std::byte> bytes, size_t i, T value) {
  std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
}

Result<void> narrow_i64(std::span<const std::byte> bytes, std::span<std::byte> out) {
  for (size_t i = 0; i < bytes.size() / 8; ++i) {
    const int64_t value = element<int64_t>(bytes, i);
    SCONCE_CHECK(value >= INT32_MIN && value <= INT32_MAX,
                 "Element {} is {}; Sconce holds 64-bit integers in 32 bits on the GPU, so it must lie within them.", i,
                 value);
    store(out, i, static_cast<int32_t>(value));
  }
  return {};
}

void narrow_f64(std::span<const std::byte> bytes, std::span<std::byte> out) {
  for (size_t i = 0; i < bytes.size() / 8; ++i) store(out, i, static_cast<float>(element<double>(bytes, i)));
}

Dtype held_by_device(Dtype dtype) {
  return dtype == Dtype::i64 ? Dtype::i32 : dtype == Dtype::f64 ? Dtype::f32 : dtype;
}

}  // namespace

Result<void> to_device(const TensorView& tensor, Dtype held_as, std::span<std::byte> out) {
  const Dtype target = held_by_device(held_as);
  SCONCE_CHECK(held_by_device(tensor.dtype) == target, "The tensor holds {}, but the model takes {} there.",
               tensor.dtype, held_as);
  const uint64_t expected = tensor.shape.numel() * size_of(tensor.dtype);
  SCONCE_CHECK(tensor.bytes.size() == expected, "A {} tensor of shape {} has {} bytes, but {} are given.", tensor.dtype,
               tensor.shape, expected, tensor.bytes.size());
  if (tensor.dtype == Dtype::i64) return narrow_i64(tensor.bytes, out);
  if (tensor.dtype == Dtype::f64) {
    narrow_f64(tensor.bytes, out);
  } else if (!tensor.bytes.empty()) {
    std::memcpy(out.data(), tensor.bytes.data(), tensor.bytes.size());
  }
  return {};
}

Tensor to_host(std::span<const std::byte> device, Dtype dtype, const Shape& shape) {
  Tensor tensor = Tensor::zeros(dtype, shape);
  const uint64_t count = shape.numel();
  if (dtype == Dtype::i64) {
    for (size_t i = 0; i < count; ++i) store(std::span(tensor.bytes), i, int64_t{element<int32_t>(device, i)});
  } else if (dtype == Dtype::f64) {
    for (size_t i = 0; i < count; ++i) store(std::span(tensor.bytes), i, double{element<float>(device, i)});
  } else if (count > 0) {
    std::memcpy(tensor.bytes.data(), device.data(), tensor.bytes.size());
  }
  return tensor;
}

Result<std::vector<int64_t>> integers_of(const TensorView& tensor) {
  std::vector<int64_t> values(tensor.bytes.size() / size_of(tensor.dtype));
  for (size_t i = 0; i < values.size(); ++i) switch (tensor.dtype) {
      case Dtype::i64:
        values[i] = element<int64_t>(tensor.bytes, i);
        break;
      case Dtype::i32:
        values[i] = element<int32_t>(tensor.bytes, i);
        break;
      case Dtype::i8:
        values[i] = element<int8_t>(tensor.bytes, i);
        break;
      case Dtype::u8:
      case Dtype::boolean:
        values[i] = element<uint8_t>(tensor.bytes, i);
        break;
      default:
        return fail(ErrorCode::invalid_argument, "An integer tensor is needed, but this one holds {}.", tensor.dtype);
    }
  return values;
}

Result<std::vector<std::byte>> convert_upload(std::span<const std::byte> bytes, record::Convert convert) {
  std::vector<std::byte> out(bytes.size() / 2);
  if (convert == record::Convert::i64_to_i32) {
    SCONCE_DO(narrow_i64(bytes, out));
  } else if (convert == record::Convert::f64_to_f32) {
    narrow_f64(bytes, out);
  } else {
    out.assign(bytes.begin(), bytes.end());
  }
  return out;
}

}  // namespace sconce::runtime
