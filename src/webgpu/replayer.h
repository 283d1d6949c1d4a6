// Replays Steps (record/record.h) on a GPU.
#pragma once

#include <memory>
#include <optional>

#include "record/record.h"
#include "webgpu/gpu.h"
#include "webgpu/poison.h"
#include "webgpu/read_back.h"
#include "webgpu/upload.h"

namespace sconce::webgpu {

struct ReplayerOptions {
  // Before each run activations and scratch are filled with NaN, and every buffer of this replayer gets a guard band of
  // NaN behind it. Costs a copy of all of them a run: for tests.
  bool poison = false;
  // Times each dispatch (profile.h). Each submit then waits for the GPU. Needs Capabilities::timestamps.
  bool profile = false;
};

// The GPU objects of one record::Tables: buffer, pipeline and bind group i belong to element i of its arrays. A model
// has one for its constants and each session one of its own, which borrows the model's buffers (BufferUse::shared).
//
// A run is: plan, prepare(), then submit() for each phase. All of it happens on the caller's thread.
class Replayer {
 public:
  // `shared` owns what the tables call shared; it must outlive this object. Null when nothing is.
  Replayer(std::shared_ptr<Gpu> gpu, ReplayerOptions options = {}, const Replayer* shared = nullptr);
  Replayer(const Replayer&) = delete;
  ~Replayer();

  // Creates what the tables have gained since the last call: buffers (zeroed), larger ones for those that grew (their
  // contents are lost), bind groups; and starts to compile pipelines. Releases retired buffers. With nothing new it
  // costs about a microsecond. After an error everything that was there before still works. Errors: out_of_memory with
  // the buffer's size and purpose; unsupported above a limit of the device.
  Result<void> start(const record::Tables& tables);
  // start(), then waits for the pipelines.
  Result<void> prepare(const record::Tables& tables);

  // Submits a phase: host_bytes and the dirty parameters are written, all commands encoded (consecutive dispatches in
  // one compute pass) and submitted at once, with the copies that the phase reads back. Returns without waiting for the
  // GPU. dirty_params is then empty. `bytes` feeds `upload` commands, which wait as often as bounded staging needs.
  Result<PendingRead> submit(record::Step& step, size_t phase, const ByteProvider& bytes = {});

  // With `poison`: an error that names the buffers whose guard bands were written. Waits for the GPU.
  Result<void> check_guards();
  // With `profile`: the dispatches since the last call, in order.
  std::vector<DispatchTime> take_profile() { return std::exchange(profile_, {}); }
  // And what the host did.
  std::vector<HostSpan> take_host_spans() { return std::exchange(host_spans_, {}); }
  void note(const char* what, std::chrono::steady_clock::time_point start) {
    if (timer_) host_spans_.push_back({what, start, std::chrono::steady_clock::now()});
  }

  Gpu& gpu() const { return *gpu_; }
  uint64_t allocated_bytes() const { return allocated_bytes_; }  // of its own buffers

 private:
  struct Buffer {
    Handle<WGPUBuffer> own;       // null when borrowed or retired
    WGPUBuffer buffer = nullptr;  // own or borrowed
    uint64_t size = 0;
    record::BufferUse use = record::BufferUse::activation;
  };

  Result<void> create_buffers(const record::Tables& tables);
  Result<Buffer> create_buffer(const record::Buffer& wanted, uint32_t id);
  Result<Buffer> borrow_buffer(const record::Buffer& wanted, uint32_t id) const;
  void replace_buffer(uint32_t id, Buffer buffer);
  void release_buffer(Buffer& buffer);
  Result<void> start_pipelines(const record::Tables& tables);
  Result<void> create_bind_groups(const record::Tables& tables);
  Result<Handle<WGPUBindGroup>> create_bind_group(const record::BindGroup& wanted);
  Result<void> create_params_group(const record::Tables& tables);

  void poison_run();
  Result<void> encode(const record::Step& step, const record::Phase& phase, CommandRecorder& commands,
                      const ByteProvider& bytes);
  Result<void> encode_dispatch(const record::Command& command, CommandRecorder& commands);
  void write_params(record::Step& step);
  Result<void> finish_profile(const record::Step& step, const record::Phase& phase);

  std::shared_ptr<Gpu> gpu_;
  ReplayerOptions options_;
  const Replayer* shared_;
  std::shared_ptr<ReadBackPool> read_backs_;
  std::optional<Poison> poison_;
  std::optional<DispatchTimer> timer_;
  std::vector<DispatchTime> profile_;
  std::vector<HostSpan> host_spans_;

  std::vector<Buffer> buffers_;
  std::vector<Pipeline*> pipelines_;
  std::vector<Handle<WGPUBindGroup>> bind_groups_;
  std::vector<record::BindGroup> bind_group_records_;  // to find those that use a replaced buffer
  std::vector<uint32_t> groups_to_make_;               // new, or one of their buffers was replaced
  Handle<WGPUBindGroup> params_group_;
  uint32_t params_ = record::kNone;
  bool params_are_new_ = false;  // the buffer holds nothing yet: all slots are written, not only the dirty ones
  uint64_t allocated_bytes_ = 0;
};

}  // namespace sconce::webgpu
