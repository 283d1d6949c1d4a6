#include "webgpu/poison.h"

#include <algorithm>

#include "webgpu/gpu.h"

namespace sconce::webgpu {

constexpr std::byte kPoison{0xFF};

Poison::Poison(Gpu& gpu) {
  WGPUBufferDescriptor descriptor = WGPU_BUFFER_DESCRIPTOR_INIT;
  descriptor.label = view("poison");
  descriptor.usage = WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst;
  descriptor.size = kPatternBytes;
  pattern_ = {gpu.api().DeviceCreateBuffer(gpu.device(), &descriptor), gpu.api().BufferRelease};
  std::vector<std::byte> bytes(kPatternBytes, kPoison);
  gpu.api().QueueWriteBuffer(gpu.queue(), pattern_.get(), 0, bytes.data(), bytes.size());
}

void Poison::fill(CommandRecorder& commands, WGPUBuffer buffer, uint64_t offset, uint64_t size) const {
  for (uint64_t done = 0; done < size; done += kPatternBytes)
    commands.copy(pattern_.get(), 0, buffer, offset + done, std::min(size - done, kPatternBytes));
}

bool is_poison(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == kPoison; });
}

}  // namespace sconce::webgpu
