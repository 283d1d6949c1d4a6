#include "webgpu/commands.h"

#include "webgpu/gpu.h"

namespace sconce::webgpu {

WGPUCommandEncoder CommandRecorder::encoder() {
  if (!encoder_) {
    WGPUCommandEncoderDescriptor descriptor = WGPU_COMMAND_ENCODER_DESCRIPTOR_INIT;
    encoder_ = {gpu_.api().DeviceCreateCommandEncoder(gpu_.device(), &descriptor), gpu_.api().CommandEncoderRelease};
  }
  return encoder_.get();
}

void CommandRecorder::begin_pass(const record::Command& command) {
  WGPUComputePassDescriptor descriptor = WGPU_COMPUTE_PASS_DESCRIPTOR_INIT;
  WGPUPassTimestampWrites writes;
  if (timer_) {
    writes = timer_->next(command);
    descriptor.timestampWrites = &writes;
  }
  pass_ = {gpu_.api().CommandEncoderBeginComputePass(encoder(), &descriptor), gpu_.api().ComputePassEncoderRelease};
  pipeline_ = nullptr, group_ = nullptr, params_slot_ = record::kNone;
}

void CommandRecorder::end_pass() {
  if (!pass_) return;
  gpu_.api().ComputePassEncoderEnd(pass_.get());
  pass_.reset();
}

void CommandRecorder::dispatch(const record::Command& command, WGPUComputePipeline pipeline, WGPUBindGroup group) {
  const Api& api = gpu_.api();
  if (!pass_) begin_pass(command);
  if (pipeline != pipeline_) api.ComputePassEncoderSetPipeline(pass_.get(), pipeline_ = pipeline);
  if (group != group_) api.ComputePassEncoderSetBindGroup(pass_.get(), 0, group_ = group, 0, nullptr);
  if (command.params_slot != params_slot_) {
    params_slot_ = command.params_slot;
    uint32_t offset = params_slot_ * record::kParamsBytes;
    api.ComputePassEncoderSetBindGroup(pass_.get(), 1, params_, 1, &offset);
  }
  api.ComputePassEncoderDispatchWorkgroups(pass_.get(), command.grid[0], command.grid[1], command.grid[2]);
  if (timer_) end_pass();
}

void CommandRecorder::copy(WGPUBuffer from, uint64_t from_offset, WGPUBuffer to, uint64_t to_offset, uint64_t size) {
  end_pass();
  gpu_.api().CommandEncoderCopyBufferToBuffer(encoder(), from, from_offset, to, to_offset, size);
}

void CommandRecorder::clear(WGPUBuffer to, uint64_t offset, uint64_t size) {
  end_pass();
  gpu_.api().CommandEncoderClearBuffer(encoder(), to, offset, size);
}

void CommandRecorder::submit() {
  if (!encoder_) return;
  end_pass();
  if (timer_) timer_->resolve(encoder_.get());
  WGPUCommandBufferDescriptor descriptor = WGPU_COMMAND_BUFFER_DESCRIPTOR_INIT;
  Handle<WGPUCommandBuffer> commands(gpu_.api().CommandEncoderFinish(encoder_.get(), &descriptor),
                                     gpu_.api().CommandBufferRelease);
  encoder_.reset();
  WGPUCommandBuffer list[] = {commands.get()};
  gpu_.api().QueueSubmit(gpu_.queue(), 1, list);
}

}  // namespace sconce::webgpu
