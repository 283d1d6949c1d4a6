// IEEE 754 half precision (the bits of an f16 element) to float and back.
#pragma once

#include <bit>
#include <cstdint>

namespace sconce {

// Exact: every half is a float.
constexpr float half_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = half >> 10 & 0x1f, fraction = half & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;  // subnormal
  return sign ? -magnitude : magnitude;
}

// Rounds to nearest, ties to even; beyond 65504 to infinity.
constexpr uint16_t float_to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  auto half = [&](uint32_t rest) { return static_cast<uint16_t>(sign | rest); };
  if (magnitude > 0x7f800000) return half(0x7e00);   // NaN
  if (magnitude >= 0x47800000) return half(0x7c00);  // 65536 and above
  if (magnitude < 0x38800000) {                      // below 2^-14: a multiple of 2^-24
    // Adding 0.5 lines the last place of the sum up with 2^-24, so the addition itself rounds.
    const float sum = std::bit_cast<float>(magnitude) + 0.5f;
    return half(std::bit_cast<uint32_t>(sum) - std::bit_cast<uint32_t>(0.5f));
  }
  const uint32_t odd = magnitude >> 13 & 1;
  return half((magnitude - (112u << 23) + 0xfff + odd) >> 13);
}

}  // namespace sconce
