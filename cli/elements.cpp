#include "cli/elements.h"

#include "base/half.h"

namespace sconce::cli {
namespace {

bool is_real(Dtype dtype) {
  return dtype == Dtype::f32 || dtype == Dtype::f16 || dtype == Dtype::f64;
}

}  // namespace

double element(const Tensor& tensor, size_t index) {
  switch (tensor.dtype) {
    case Dtype::f32:
      return tensor.as<float>()[index];
    case Dtype::f16:
      return half_to_float(tensor.as<uint16_t>()[index]);
    case Dtype::f64:
      return tensor.as<double>()[index];
    case Dtype::i64:
      return static_cast<double>(tensor.as<int64_t>()[index]);
    case Dtype::i32:
      return tensor.as<int32_t>()[index];
    case Dtype::i8:
      return tensor.as<int8_t>()[index];
    case Dtype::u8:
    case Dtype::boolean:
      return tensor.as<uint8_t>()[index];
  }
  return 0;
}

void set_element(Tensor& tensor, size_t index, double value) {
  switch (tensor.dtype) {
    case Dtype::f32:
      tensor.as<float>()[index] = static_cast<float>(value);
      return;
    case Dtype::f16:
      tensor.as<uint16_t>()[index] = float_to_half(static_cast<float>(value));
      return;
    case Dtype::f64:
      tensor.as<double>()[index] = value;
      return;
    case Dtype::i64:
      tensor.as<int64_t>()[index] = static_cast<int64_t>(value);
      return;
    case Dtype::i32:
      tensor.as<int32_t>()[index] = static_cast<int32_t>(value);
      return;
    case Dtype::i8:
      tensor.as<int8_t>()[index] = static_cast<int8_t>(value);
      return;
    case Dtype::u8:
      tensor.as<uint8_t>()[index] = static_cast<uint8_t>(value);
      return;
    case Dtype::boolean:
      tensor.as<uint8_t>()[index] = value != 0;
      return;
  }
}

void fill(Tensor& tensor, double value) {
  for (size_t i = 0; i < tensor.shape.numel(); ++i) set_element(tensor, i, value);
}

void fill_random(Tensor& tensor, RandomNumbers& random, int64_t high) {
  const uint64_t range = tensor.dtype == Dtype::boolean ? 2 : static_cast<uint64_t>(high);
  for (size_t i = 0; i < tensor.shape.numel(); ++i)
    set_element(tensor, i, is_real(tensor.dtype) ? 2 * random.unit() - 1 : static_cast<double>(random.next() % range));
}

}  // namespace sconce::cli
