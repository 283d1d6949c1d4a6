#include "webgpu/upload.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "webgpu/gpu.h"

namespace sconce::webgpu {

Result<void> Uploader::upload(const record::Command& command, WGPUBuffer to, const ByteProvider& bytes) {
  uint64_t done = 0;
  std::array<std::byte, 4> word;  // the start of a word whose other bytes the provider has not given yet
  size_t held = 0;
  while (done + held < command.size) {
    uint64_t wanted = std::min(command.size - done - held, kChunkBytes);
    SCONCE_TRY(std::span<const std::byte> given, bytes(command.from, command.from_offset + done + held, wanted));
    if (given.empty() || given.size() > wanted)
      return fail(ErrorCode::io, "The source {} gives {} bytes at offset {} where 1 to {} are asked for.", command.from,
                  given.size(), command.from_offset + done + held, wanted);
    // WebGPU takes whole words only.
    if (held != 0 || given.size() < 4) {
      size_t taken = std::min(given.size(), 4 - held);
      std::memcpy(word.data() + held, given.data(), taken);
      held += taken;
      if (held < 4) continue;
      SCONCE_DO(write(to, command.to_offset + done, word));
      done += 4, held = 0;
      continue;
    }
    given = given.first(given.size() / 4 * 4);
    SCONCE_DO(write(to, command.to_offset + done, given));
    done += given.size();
  }
  return {};
}

Result<void> Uploader::write(WGPUBuffer to, uint64_t offset, std::span<const std::byte> bytes) {
  gpu_.api().QueueWriteBuffer(gpu_.queue(), to, offset, bytes.data(), bytes.size());
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
