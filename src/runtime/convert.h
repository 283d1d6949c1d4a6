// Host tensors to device bytes and back: the GPU holds an i64 as an i32 and an f64 as an f32.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/error.h"
#include "record/record.h"
#include "sconce/tensor.h"

namespace sconce::runtime {

// Writes a host tensor as the device holds elements of `held_as`. An i32 is welcome where an i64 is expected and the
// reverse; a value outside 32 bits is an error that names it.
Result<void> to_device(const TensorView& tensor, Dtype held_as, std::span<std::byte> out);

// The host tensor of `dtype` and `shape` from device bytes.
Tensor to_host(std::span<const std::byte> device, Dtype dtype, const Shape& shape);

// The elements of an integer tensor.
Result<std::vector<int64_t>> integers_of(const TensorView& tensor);

// A chunk of a constant on its way to the GPU.
Result<std::vector<std::byte>> convert_upload(std::span<const std::byte> bytes, record::Convert convert);

}  // namespace sconce::runtime
