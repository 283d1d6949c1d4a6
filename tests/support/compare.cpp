#include "support/compare.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"

namespace sconce::test {
namespace {

bool is_real(Dtype dtype) {
  return dtype == Dtype::f32 || dtype == Dtype::f64;
}

// An element as a double; all dtypes but i64 fit, and i64 values that Sconce can hold do too.
double element(const Tensor& tensor, size_t i) {
  switch (tensor.dtype) {
    case Dtype::f32:
      return tensor.as<float>()[i];
    case Dtype::f64:
      return tensor.as<double>()[i];
    case Dtype::i64:
      return static_cast<double>(tensor.as<int64_t>()[i]);
    case Dtype::i32:
      return tensor.as<int32_t>()[i];
    case Dtype::i8:
      return tensor.as<int8_t>()[i];
    default:
      return tensor.as<uint8_t>()[i];
  }
}

struct Worst {
  size_t wrong = 0, at = 0;
  double error = -1;
};

void look_at(double actual, double golden, size_t i, const Tolerance& tolerance, Worst& worst) {
  if (std::isnan(actual) && std::isnan(golden)) return;
  if (actual == golden) return;  // infinities too
  const double error = std::abs(actual - golden);
  const double relative = error / std::max(std::abs(golden), 1e-6);
  if (error <= tolerance.atol || relative <= tolerance.rtol) return;
  ++worst.wrong;
  const double size = std::isnan(error) ? INFINITY : error;
  if (size > worst.error) worst.error = size, worst.at = i;
}

}  // namespace

std::string difference(const Tensor& actual, const Tensor& golden, const Tolerance& tolerance) {
  if (actual.dtype != golden.dtype || actual.shape != golden.shape)
    return fmt::format("The output is {} of shape {}, but the golden is {} of shape {}.", actual.dtype, actual.shape,
                       golden.dtype, golden.shape);
  const Tolerance applied = is_real(golden.dtype) ? tolerance : Tolerance{};
  Worst worst;
  const size_t count = golden.shape.numel();
  for (size_t i = 0; i < count; ++i) look_at(element(actual, i), element(golden, i), i, applied, worst);
  if (worst.wrong == 0) return {};
  return fmt::format("{} of {} elements of shape {} are wrong; the worst is element {}: {} instead of {}.", worst.wrong,
                     count, golden.shape, worst.at, element(actual, worst.at), element(golden, worst.at));
}

}  // namespace sconce::test
