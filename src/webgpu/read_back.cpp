#include "webgpu/read_back.h"

#include <algorithm>
#include <bit>

#include "webgpu/gpu.h"

namespace sconce::webgpu {

Result<ReadBackPool::Staging> ReadBackPool::take(uint64_t size) {
  auto fits = std::find_if(free_.begin(), free_.end(), [size](const Staging& s) { return s.size >= size; });
  if (fits != free_.end()) {
    Staging found = std::move(*fits);
    free_.erase(fits);
    return found;
  }
  WGPUBufferDescriptor descriptor = WGPU_BUFFER_DESCRIPTOR_INIT;
  descriptor.label = view("read back");
  descriptor.usage = WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst;
  descriptor.size = std::bit_ceil(std::max<uint64_t>(size, 256));
  ErrorScope scope(*gpu_);
  Staging made{{gpu_->api().DeviceCreateBuffer(gpu_->device(), &descriptor), gpu_->api().BufferRelease},
               descriptor.size};
  SCONCE_DO(scope.finish(fmt::format("a staging buffer to read back {} bytes", size)));
  return made;
}

// The callback writes here, so the address must not change while a PendingRead moves.
struct PendingRead::Mapping {
  ReadBackPool::Staging staging;
  std::vector<uint64_t> sizes;
  uint64_t used = 0;
  WGPUFuture future = {0};
  bool called = false;
  WGPUMapAsyncStatus status = WGPUMapAsyncStatus_Error;
  std::string message;
};

Result<void> ReadBacks::record(CommandRecorder& commands, std::span<const GpuRange> ranges) {
  for (const GpuRange& range : ranges) {
    sizes_.push_back(range.size);
    used_ += aligned(range.size);
  }
  if (used_ == 0) return {};
  SCONCE_TRY(staging_, pool_->take(used_));
  uint64_t to = 0;
  for (const GpuRange& range : ranges) {
    if (range.size != 0) commands.copy(range.buffer, range.offset, staging_.buffer.get(), to, aligned(range.size));
    to += aligned(range.size);
  }
  return {};
}

PendingRead ReadBacks::map() {
  PendingRead pending;
  if (used_ == 0) {
    pending.reads_.resize(sizes_.size());
    return pending;
  }
  auto mapping = std::make_unique<PendingRead::Mapping>();
  mapping->staging = std::move(staging_);
  mapping->used = used_;
  mapping->sizes = std::move(sizes_);
  auto on_mapped = [](WGPUMapAsyncStatus status, WGPUStringView message, void* to, void*) {
    auto& mapping = *static_cast<PendingRead::Mapping*>(to);
    mapping.called = true, mapping.status = status, mapping.message = message_text(message);
  };
  WGPUBufferMapCallbackInfo callback = {nullptr, WGPUCallbackMode_WaitAnyOnly, on_mapped, mapping.get(), nullptr};
  mapping->future =
      pool_->gpu().api().BufferMapAsync(mapping->staging.buffer.get(), WGPUMapMode_Read, 0, mapping->used, callback);
  pending.mapping_ = std::move(mapping);
  pending.pool_ = std::move(pool_);
  return pending;
}

PendingRead::PendingRead() = default;
PendingRead::PendingRead(PendingRead&& other) noexcept = default;
PendingRead::~PendingRead() {
  close();
}

PendingRead& PendingRead::operator=(PendingRead&& other) noexcept {
  close();
  pool_ = std::move(other.pool_);
  mapping_ = std::move(other.mapping_);
  reads_ = std::move(other.reads_);
  return *this;
}

Result<bool> PendingRead::poll() {
  if (!mapping_ || !reads_.empty()) return true;
  SCONCE_TRY(bool done, pool_->gpu().ready(mapping_->future));
  return finish(done);
}

Result<void> PendingRead::wait() {
  if (!mapping_ || !reads_.empty()) return {};
  SCONCE_DO(pool_->gpu().wait(mapping_->future));
  SCONCE_DO(finish(true));
  return {};
}

Result<bool> PendingRead::finish(bool done) {
  if (!done) return false;
  const Api& api = pool_->gpu().api();
  auto mapped =
      static_cast<const std::byte*>(api.BufferGetConstMappedRange(mapping_->staging.buffer.get(), 0, mapping_->used));
  if (mapping_->status != WGPUMapAsyncStatus_Success || !mapped)
    return fail(ErrorCode::internal, "WebGPU does not map the {} bytes that a run reads back: {}", mapping_->used,
                mapping_->message);
  uint64_t offset = 0;
  for (uint64_t size : mapping_->sizes) {
    reads_.emplace_back(mapped + offset, size);
    offset += ReadBacks::aligned(size);
  }
  return true;
}

void PendingRead::close() {
  if (!mapping_) return;
  Gpu& gpu = pool_->gpu();
  gpu.api().BufferUnmap(mapping_->staging.buffer.get());
  if (!mapping_->called) (void)gpu.wait(mapping_->future);  // returns at once: the unmap ended it
  pool_->give_back(std::move(mapping_->staging));
  mapping_.reset();
  reads_.clear();
}

}  // namespace sconce::webgpu
