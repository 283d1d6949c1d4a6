#include "webgpu/pipeline_cache.h"

#include <cassert>

#include "webgpu/gpu.h"

namespace sconce::webgpu {
namespace {

WGPUBindGroupLayoutEntry layout_entry(uint32_t binding, WGPUBufferBindingType type) {
  WGPUBindGroupLayoutEntry entry = WGPU_BIND_GROUP_LAYOUT_ENTRY_INIT;
  entry.binding = binding;
  entry.visibility = WGPUShaderStage_Compute;
  entry.buffer.type = type;
  return entry;
}

Handle<WGPUBindGroupLayout> make_group_layout(Gpu& gpu, std::span<const WGPUBindGroupLayoutEntry> entries) {
  WGPUBindGroupLayoutDescriptor descriptor = WGPU_BIND_GROUP_LAYOUT_DESCRIPTOR_INIT;
  descriptor.entryCount = entries.size(), descriptor.entries = entries.data();
  return {gpu.api().DeviceCreateBindGroupLayout(gpu.device(), &descriptor), gpu.api().BindGroupLayoutRelease};
}

void on_compiled(WGPUCreatePipelineAsyncStatus, WGPUComputePipeline compiled, WGPUStringView message, void* to,
                 void* gpu) {
  auto& pipeline = *static_cast<Pipeline*>(to);
  pipeline.finished = true;
  pipeline.pipeline = {compiled, static_cast<Gpu*>(gpu)->api().ComputePipelineRelease};
  pipeline.message = message_text(message);
}

}  // namespace

PipelineCache::PipelineCache(Gpu& gpu, std::span<const record::KernelInfo> kernels) : gpu_(gpu), kernels_(kernels) {
  WGPUBindGroupLayoutEntry params = layout_entry(0, WGPUBufferBindingType_Uniform);
  params.buffer.hasDynamicOffset = true;
  params.buffer.minBindingSize = record::kParamsBytes;
  WGPUBindGroupLayoutEntry live = layout_entry(1, WGPUBufferBindingType_Uniform);
  live.buffer.minBindingSize = record::kLiveBytes;
  const WGPUBindGroupLayoutEntry entries[] = {params, live};
  params_layout_ = make_group_layout(gpu, entries);
}

PipelineCache::~PipelineCache() {
  // Callbacks write to the pipelines, so none may be under way; why one fails no longer matters.
  for (Pipeline& pipeline : pipelines_)
    if (!pipeline.finished) (void)gpu_.wait(pipeline.future);
}

Result<Pipeline*> PipelineCache::start(const record::Pipeline& wanted) {
  uint64_t key = uint64_t{wanted.kernel} << 32 | wanted.variant;
  if (auto known = by_key_.find(key); known != by_key_.end()) return known->second;
  SCONCE_CHECK(wanted.kernel < kernels_.size(), "The Step asks for kernel {}, but there are {}.", wanted.kernel,
               kernels_.size());
  const record::KernelInfo& kernel = kernels_[wanted.kernel];
  std::string label = record::kernel_label(kernel, wanted.variant);
  SCONCE_DO(check_limits(kernel, label));
  SCONCE_TRY(Handle<WGPUShaderModule> module, compile_text(record::kernel_text(kernel, wanted.variant), label));

  const Layouts& layouts = layouts_for(kernel.bindings);
  Pipeline& pipeline = pipelines_.emplace_back();
  pipeline.label = label;
  pipeline.layout = layouts.group.get();
  WGPUComputePipelineDescriptor descriptor = WGPU_COMPUTE_PIPELINE_DESCRIPTOR_INIT;
  descriptor.label = view(pipeline.label);
  descriptor.layout = layouts.pipeline.get();
  descriptor.compute.module = module.get();
  descriptor.compute.entryPoint = view("main");
  WGPUCreateComputePipelineAsyncCallbackInfo callback = {nullptr, WGPUCallbackMode_WaitAnyOnly, on_compiled, &pipeline,
                                                         &gpu_};
  pipeline.future = gpu_.api().DeviceCreateComputePipelineAsync(gpu_.device(), &descriptor, callback);
  by_key_.emplace(key, &pipeline);
  return &pipeline;
}

Result<void> PipelineCache::finish(Pipeline& pipeline) {
  if (!pipeline.finished) SCONCE_DO(gpu_.wait(pipeline.future));
  if (pipeline.pipeline) return {};
  return fail(ErrorCode::internal, "The kernel {} does not compile on {}: {}", pipeline.label, gpu_.adapter().name,
              pipeline.message);
}

const PipelineCache::Layouts& PipelineCache::layouts_for(std::span<const record::KernelBinding> bindings) {
  std::vector<record::Access> accesses;
  for (const record::KernelBinding& binding : bindings) accesses.push_back(binding.access);
  auto [known, is_new] = layouts_.try_emplace(accesses);
  Layouts& layouts = known->second;
  if (!is_new) return layouts;
  std::vector<WGPUBindGroupLayoutEntry> entries;
  for (record::Access access : accesses)
    entries.push_back(layout_entry(static_cast<uint32_t>(entries.size()), access == record::Access::write
                                                                              ? WGPUBufferBindingType_Storage
                                                                              : WGPUBufferBindingType_ReadOnlyStorage));
  layouts.group = make_group_layout(gpu_, entries);
  WGPUBindGroupLayout groups[] = {layouts.group.get(), params_layout_.get()};
  WGPUPipelineLayoutDescriptor descriptor = WGPU_PIPELINE_LAYOUT_DESCRIPTOR_INIT;
  descriptor.bindGroupLayoutCount = 2, descriptor.bindGroupLayouts = groups;
  layouts.pipeline = {gpu_.api().DeviceCreatePipelineLayout(gpu_.device(), &descriptor),
                      gpu_.api().PipelineLayoutRelease};
  return layouts;
}

Result<void> PipelineCache::check_limits(const record::KernelInfo& kernel, const std::string& label) const {
  const record::Capabilities& c = gpu_.capabilities();
  auto refuse = [&](const char* what, uint64_t needed, uint64_t limit) {
    return fail(ErrorCode::unsupported, "The kernel {} needs {} {}, but {} allows {}.", label, needed, what,
                gpu_.adapter().name, limit);
  };
  if (kernel.invocations > c.max_invocations_per_workgroup)
    return refuse("invocations in a workgroup", kernel.invocations, c.max_invocations_per_workgroup);
  if (kernel.workgroup_bytes > c.max_workgroup_storage_bytes)
    return refuse("bytes of workgroup memory", kernel.workgroup_bytes, c.max_workgroup_storage_bytes);
  if (kernel.bindings.size() > c.max_storage_buffers)
    return refuse("storage buffers", kernel.bindings.size(), c.max_storage_buffers);
  if (kernel.subgroups && !c.subgroups)
    return fail(ErrorCode::unsupported, "The kernel {} needs the feature subgroups, which {} does not offer.", label,
                gpu_.adapter().name);
  if (kernel.matrix && !record::has_matrix_16(c))
    return fail(ErrorCode::unsupported, "The kernel {} needs a matrix unit, which {} does not offer.", label,
                gpu_.adapter().name);
  return {};
}

Result<Handle<WGPUShaderModule>> PipelineCache::compile_text(const std::string& wgsl, const std::string& label) {
  WGPUShaderSourceWGSL source = WGPU_SHADER_SOURCE_WGSL_INIT;
  source.code = view(wgsl);
  WGPUShaderModuleDescriptor descriptor = WGPU_SHADER_MODULE_DESCRIPTOR_INIT;
  descriptor.nextInChain = &source.chain;
  descriptor.label = view(label);
  ErrorScope scope(gpu_);
  Handle<WGPUShaderModule> module(gpu_.api().DeviceCreateShaderModule(gpu_.device(), &descriptor),
                                  gpu_.api().ShaderModuleRelease);
  SCONCE_DO(scope.finish(fmt::format("the WGSL text of the kernel {}", label)));
  return module;
}

}  // namespace sconce::webgpu
