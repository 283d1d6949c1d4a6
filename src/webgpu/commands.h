// Encodes commands into as few WebGPU calls as possible: the host's part of a decode step is mostly these calls.
#pragma once

#include "record/record.h"
#include "webgpu/api.h"
#include "webgpu/profile.h"

namespace sconce::webgpu {

class Gpu;

// Consecutive dispatches share one compute pass; WebGPU orders them and makes the writes of one visible to the next.
class CommandRecorder {
 public:
  // `timer` may be null; with one, each dispatch gets a pass of its own.
  CommandRecorder(Gpu& gpu, DispatchTimer* timer) : gpu_(gpu), timer_(timer) {}
  CommandRecorder(const CommandRecorder&) = delete;
  ~CommandRecorder() { end_pass(); }

  // The group of the parameter buffer: must be set before the first dispatch.
  void use_params(WGPUBindGroup params) { params_ = params; }
  void dispatch(const record::Command& command, WGPUComputePipeline pipeline, WGPUBindGroup group);
  void copy(WGPUBuffer from, uint64_t from_offset, WGPUBuffer to, uint64_t to_offset, uint64_t size);
  void clear(WGPUBuffer to, uint64_t offset, uint64_t size);

  // Submits what was recorded since the last time, if anything.
  void submit();

 private:
  WGPUCommandEncoder encoder();
  void begin_pass(const record::Command& command);
  void end_pass();

  Gpu& gpu_;
  DispatchTimer* timer_;
  WGPUBindGroup params_ = nullptr;
  Handle<WGPUCommandEncoder> encoder_;
  Handle<WGPUComputePassEncoder> pass_;
  // What the pass has set, to leave out calls that would set it again.
  WGPUComputePipeline pipeline_ = nullptr;
  WGPUBindGroup group_ = nullptr;
  uint32_t params_slot_ = record::kNone;
};

}  // namespace sconce::webgpu
