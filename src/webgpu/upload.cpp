#include "webgpu/upload.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/convert.h"
#include "webgpu/gpu.h"

namespace sconce::webgpu {

Result<void> Uploader::upload(const record::Command& command, WGPUBuffer to, const ByteProvider& bytes) {
  uint64_t to_offset = command.to_offset;
  for (uint64_t done = 0; done < command.size; done += kChunkBytes) {
    const uint64_t size = std::min(command.size - done, kChunkBytes);
    SCONCE_TRY(std::span<const std::byte> given, bytes(command.from, command.from_offset + done, size));
    if (given.size() != size)
      return fail(ErrorCode::io, "The source {} gives {} bytes at offset {} where {} are asked for.", command.from,
                  given.size(), command.from_offset + done, size);
    std::vector<std::byte> converted;
    if (command.convert != record::Convert::none) {
      SCONCE_TRY(converted, runtime::convert_upload(given, command.convert));
      given = converted;
    }
    SCONCE_DO(write(to, to_offset, given));
    to_offset += given.size();
  }
  return {};
}

// WebGPU takes whole words only.
Result<void> Uploader::write(WGPUBuffer to, uint64_t offset, std::span<const std::byte> bytes) {
  const size_t whole = bytes.size() / 4 * 4;
  if (whole > 0) gpu_.api().QueueWriteBuffer(gpu_.queue(), to, offset, bytes.data(), whole);
  if (whole < bytes.size()) {
    std::array<std::byte, 4> word = {};
    std::memcpy(word.data(), bytes.data() + whole, bytes.size() - whole);
    gpu_.api().QueueWriteBuffer(gpu_.queue(), to, offset + whole, word.data(), word.size());
  }
  unmarked_ += bytes.size();
  return unmarked_ >= kInFlightBytes / 4 ? stay_within_bound() : Result<void>();
}

Result<void> Uploader::stay_within_bound() {
  const Api& api = gpu_.api();
  api.QueueSubmit(gpu_.queue(), 0, nullptr);  // starts the copies
  WGPUQueueWorkDoneCallbackInfo callback = WGPU_QUEUE_WORK_DONE_CALLBACK_INFO_INIT;
  callback.mode = WGPUCallbackMode_WaitAnyOnly;
  callback.callback = [](WGPUQueueWorkDoneStatus, WGPUStringView, void*, void*) {};
  parts_.push_back({api.QueueOnSubmittedWorkDone(gpu_.queue(), callback), unmarked_});
  in_flight_ += unmarked_, unmarked_ = 0;
  while (in_flight_ > kInFlightBytes - kInFlightBytes / 4) {
    SCONCE_DO(gpu_.wait(parts_.front().taken));
    in_flight_ -= parts_.front().bytes;
    parts_.pop_front();
  }
  return {};
}

}  // namespace sconce::webgpu
