// Element types on the GPU: conversions, fills, and numbers as the bits that kernels take.
#pragma once

#include "ops/call.h"
#include "ops/node_plan.h"

namespace sconce::ops {

// Invocations of a workgroup of the elementwise and copying kernels, each of which makes four elements.
inline constexpr uint64_t kElementwiseInvocations = 256;

inline uint64_t elementwise_workgroups(uint64_t elements) {
  return div_ceil(elements, 4 * kElementwiseInvocations);
}

// How the GPU holds an element: an i64 as an i32, an f64 as an f32. f16 has no elementwise kernels.
inline Dtype device_dtype(Dtype dtype) {
  return dtype == Dtype::i64 ? Dtype::i32 : dtype == Dtype::f64 ? Dtype::f32 : dtype;
}
inline bool is_byte(Dtype dtype) {
  return size_of(dtype) == 1;
}
inline bool is_float(Dtype dtype) {
  return device_dtype(dtype) == Dtype::f32 || dtype == Dtype::f16;
}

// A number as the bits of one f32 or i32; an error when an integer does not fit.
Result<uint32_t> bits_of(double number, Dtype dtype);

// y = x as another element type.
Result<void> plan_convert(const Operand& x, Dtype from, const Operand& y, Dtype to, uint64_t count, NodePlan& plan);
// The tensor's elements as `to`: the tensor itself, or scratch memory that a dispatch fills.
Result<Operand> converted(const TensorArg& tensor, Dtype to, NodePlan& plan);

// Fills all elements of y with a number.
Result<void> plan_fill(const Operand& y, Dtype dtype, uint64_t count, double number, NodePlan& plan);

}  // namespace sconce::ops
