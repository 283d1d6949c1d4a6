// Compute pipelines, shared by all models of a device and compiled in the background.
#pragma once

#include <deque>
#include <map>
#include <span>
#include <string>
#include <unordered_map>

#include "base/error.h"
#include "record/record.h"
#include "webgpu/api.h"

namespace sconce::webgpu {

class Gpu;

struct Pipeline {
  std::string label;                     // record::kernel_label
  WGPUBindGroupLayout layout = nullptr;  // of group 0; belongs to the cache
  Handle<WGPUComputePipeline> pipeline;  // null until it is compiled
  WGPUFuture future = {0};
  std::string message;  // why it could not be compiled
  bool finished = false;
};

class PipelineCache {
 public:
  PipelineCache(Gpu& gpu, std::span<const record::KernelInfo> kernels);
  PipelineCache(const PipelineCache&) = delete;
  ~PipelineCache();

  // Starts to compile a variant of a kernel, or returns the one that was started before. The reference stays valid.
  // WebGPU compiles several pipelines at the same time. Errors: the device lacks a limit that the kernel needs; the
  // WGSL text is wrong (with the compiler's message).
  Result<Pipeline*> start(const record::Pipeline& wanted);
  // Waits until it is compiled.
  Result<void> finish(Pipeline& pipeline);

  // Of group 1, the same for every kernel: a uniform block of kParamsBytes with a dynamic offset, and the table of live
  // integers.
  WGPUBindGroupLayout params_layout() const { return params_layout_.get(); }

 private:
  struct Layouts {
    Handle<WGPUBindGroupLayout> group;
    Handle<WGPUPipelineLayout> pipeline;
  };
  // Kernels with the same accesses share their layouts, so that bind groups and pipelines match without further checks.
  const Layouts& layouts_for(std::span<const record::KernelBinding> bindings);
  Result<void> check_limits(const record::KernelInfo& kernel, const std::string& label) const;
  Result<Handle<WGPUShaderModule>> compile_text(const std::string& wgsl, const std::string& label);

  Gpu& gpu_;
  std::span<const record::KernelInfo> kernels_;
  Handle<WGPUBindGroupLayout> params_layout_;
  std::map<std::vector<record::Access>, Layouts> layouts_;
  std::deque<Pipeline> pipelines_;
  std::unordered_map<uint64_t, Pipeline*> by_key_;  // kernel id and variant
};

}  // namespace sconce::webgpu
