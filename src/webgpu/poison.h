// Makes reads of undefined memory and writes past the end visible.
#pragma once

#include <span>

#include "webgpu/commands.h"

namespace sconce::webgpu {

// The byte 0xFF: as f32 and f16 a NaN, as i32 the value -1.
class Poison {
 public:
  static constexpr uint64_t kGuardBytes = 256;  // behind each buffer that is watched

  explicit Poison(Gpu& gpu);

  void fill(CommandRecorder& commands, WGPUBuffer buffer, uint64_t offset, uint64_t size) const;

 private:
  static constexpr uint64_t kPatternBytes = 1 << 20;
  Handle<WGPUBuffer> pattern_;
};

// Whether every byte is still poison.
bool is_poison(std::span<const std::byte> bytes);

}  // namespace sconce::webgpu
