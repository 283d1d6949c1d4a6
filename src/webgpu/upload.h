// Weights on their way from their source to the GPU.
#pragma once

#include <deque>
#include <functional>
#include <span>

#include "record/record.h"
#include "webgpu/api.h"

namespace sconce::webgpu {

class Gpu;

// Gives the bytes [offset, offset + size) of a source (Command::from), valid until the next call.
using ByteProvider = std::function<Result<std::span<const std::byte>>(uint32_t source, uint64_t offset, uint64_t size)>;

// WebGPU copies what is written into staging memory of its own until the GPU has taken it; without a bound, a model
// would be in memory twice.
class Uploader {
 public:
  static constexpr uint64_t kChunkBytes = 8ull << 20;  // asked of the provider at once
  static constexpr uint64_t kInFlightBytes = 64ull << 20;

  explicit Uploader(Gpu& gpu) : gpu_(gpu) {}

  // Writes command.size bytes of the source, converted, to `to`; what is left of the last word becomes zero.
  Result<void> upload(const record::Command& command, WGPUBuffer to, const ByteProvider& bytes);

 private:
  Result<void> write(WGPUBuffer to, uint64_t offset, std::span<const std::byte> bytes);
  Result<void> stay_within_bound();

  struct Part {
    WGPUFuture taken;  // done when the GPU has taken these bytes
    uint64_t bytes;
  };
  Gpu& gpu_;
  std::deque<Part> parts_;
  uint64_t in_flight_ = 0;  // bytes of parts_
  uint64_t unmarked_ = 0;   // bytes written since the last part
};

}  // namespace sconce::webgpu
