// Bytes on their way from the GPU to the host.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "webgpu/commands.h"

namespace sconce::webgpu {

// Buffers that the host can map, kept for the next read: a decode step reads logits or tokens of the same size each
// time.
class ReadBackPool {
 public:
  explicit ReadBackPool(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}

  struct Staging {
    Handle<WGPUBuffer> buffer;
    uint64_t size = 0;
  };
  // A free one of at least `size` bytes, or a new one of the next power of two.
  Result<Staging> take(uint64_t size);
  void give_back(Staging staging) { free_.push_back(std::move(staging)); }
  Gpu& gpu() { return *gpu_; }

 private:
  std::shared_ptr<Gpu> gpu_;  // a read may be the last that is left of a session
  std::vector<Staging> free_;
};

// What a submitted phase reads back. All reads of a phase share one staging buffer and one map.
class PendingRead {
 public:
  PendingRead();  // nothing to read
  PendingRead(PendingRead&& other) noexcept;
  PendingRead& operator=(PendingRead&& other) noexcept;
  ~PendingRead();

  // Whether the bytes are there; does not wait.
  Result<bool> poll();
  Result<void> wait();
  // The bytes of read i of the phase, of the size that the phase asked for: after wait(), or poll() with true, and
  // until this object goes away.
  std::span<const std::byte> bytes(size_t i) const { return reads_[i]; }
  size_t count() const { return reads_.size(); }

 private:
  friend class ReadBacks;
  void close();
  Result<bool> finish(bool done);

  struct Mapping;
  std::shared_ptr<ReadBackPool> pool_;
  std::unique_ptr<Mapping> mapping_;
  std::vector<std::span<const std::byte>> reads_;
};

// Bytes of a buffer; the offset is a multiple of 4.
struct GpuRange {
  WGPUBuffer buffer;
  uint64_t offset, size;
};

// Adds copies of ranges to commands that are not yet submitted, and maps them once they are.
class ReadBacks {
 public:
  explicit ReadBacks(std::shared_ptr<ReadBackPool> pool) : pool_(std::move(pool)) {}
  Result<void> record(CommandRecorder& commands, std::span<const GpuRange> ranges);
  PendingRead map();

 private:
  friend class PendingRead;
  // Copies are of whole words, and elements of 8 bytes stay aligned; buffers are multiples of 16 bytes, so it fits.
  static uint64_t aligned(uint64_t size) { return (size + 7) / 8 * 8; }

  std::shared_ptr<ReadBackPool> pool_;
  ReadBackPool::Staging staging_;
  std::vector<uint64_t> sizes_;
  uint64_t used_ = 0;
};

}  // namespace sconce::webgpu
