// The part of the Replayer that keeps GPU objects in step with the tables.
#include <algorithm>

#include "webgpu/replayer.h"

namespace sconce::webgpu {
namespace {

const char* purpose_of(record::BufferUse use) {
  switch (use) {
    case record::BufferUse::constant:
    case record::BufferUse::shared:
      return "a constant of the model";
    case record::BufferUse::state:
      return "state such as a KV cache";
    case record::BufferUse::activation:
      return "an activation";
    case record::BufferUse::scratch:
      return "scratch memory";
    case record::BufferUse::params:
      return "the parameters of dispatches";
    case record::BufferUse::staging:
      return "a constant that is being loaded";
    case record::BufferUse::retired:
      return "nothing";
  }
  return "nothing";
}

WGPUBufferUsage usage_of(record::BufferUse use) {
  if (use == record::BufferUse::params)
    return WGPUBufferUsage_Uniform | WGPUBufferUsage_CopyDst | WGPUBufferUsage_CopySrc;
  return WGPUBufferUsage_Storage | WGPUBufferUsage_CopyDst | WGPUBufferUsage_CopySrc;
}

}  // namespace

Result<void> Replayer::start(const record::Tables& tables) {
  SCONCE_DO(gpu_->check());
  SCONCE_DO(start_pipelines(tables));
  SCONCE_DO(create_buffers(tables));
  SCONCE_DO(create_bind_groups(tables));
  SCONCE_DO(create_params_group(tables));
  return {};
}

// ---- buffers ----

Result<void> Replayer::create_buffers(const record::Tables& tables) {
  // All are made before the first replaces an old one, so that running out of memory changes nothing.
  std::vector<std::pair<uint32_t, Buffer>> changed;
  for (uint32_t id = 0; id < tables.buffers.size(); ++id) {
    const record::Buffer& wanted = tables.buffers[id];
    const bool known = id < buffers_.size() && buffers_[id].buffer;
    if (wanted.use == record::BufferUse::retired) {
      if (known) changed.emplace_back(id, Buffer{});
    } else if (!known || buffers_[id].size < wanted.size) {
      const bool is_shared = wanted.use == record::BufferUse::shared;
      SCONCE_TRY(Buffer made, is_shared ? borrow_buffer(wanted, id) : create_buffer(wanted, id));
      changed.emplace_back(id, std::move(made));
    }
  }
  buffers_.resize(std::max(buffers_.size(), tables.buffers.size()));
  for (auto& [id, buffer] : changed) replace_buffer(id, std::move(buffer));
  return {};
}

Result<Replayer::Buffer> Replayer::create_buffer(const record::Buffer& wanted, uint32_t id) {
  uint64_t guard = poison_ ? Poison::kGuardBytes : 0;
  const record::Capabilities& capabilities = gpu_->capabilities();
  if (wanted.size > capabilities.max_buffer_bytes)
    return fail(ErrorCode::unsupported, "Buffer {} for {} needs {} bytes, but {} allows at most {} bytes in a buffer.",
                id, purpose_of(wanted.use), wanted.size, gpu_->adapter().name, capabilities.max_buffer_bytes);
  WGPUBufferDescriptor descriptor = WGPU_BUFFER_DESCRIPTOR_INIT;
  descriptor.label = view(purpose_of(wanted.use));
  descriptor.usage = usage_of(wanted.use);
  descriptor.size = wanted.size + guard;
  ErrorScope scope(*gpu_);
  Handle<WGPUBuffer> own(gpu_->api().DeviceCreateBuffer(gpu_->device(), &descriptor), gpu_->api().BufferRelease);
  SCONCE_DO(scope.finish(fmt::format("buffer {} of {} bytes for {}, with {} bytes of the session or model allocated",
                                     id, wanted.size, purpose_of(wanted.use), allocated_bytes_)));
  WGPUBuffer buffer = own.get();
  return Buffer{std::move(own), buffer, wanted.size, wanted.use};
}

Result<Replayer::Buffer> Replayer::borrow_buffer(const record::Buffer& wanted, uint32_t id) const {
  if (!shared_ || wanted.shared >= shared_->buffers_.size() || !shared_->buffers_[wanted.shared].buffer)
    return fail(ErrorCode::internal, "Buffer {} shares buffer {} of the model, which the model does not hold.", id,
                wanted.shared);
  const Buffer& lender = shared_->buffers_[wanted.shared];
  if (lender.size < wanted.size)
    return fail(ErrorCode::internal, "Buffer {} shares buffer {} of the model and needs {} bytes of it, but it has {}.",
                id, wanted.shared, wanted.size, lender.size);
  return Buffer{{}, lender.buffer, wanted.size, wanted.use};
}

void Replayer::replace_buffer(uint32_t id, Buffer buffer) {
  release_buffer(buffers_[id]);
  if (buffer.own) allocated_bytes_ += buffer.size;
  buffers_[id] = std::move(buffer);
  for (size_t i = 0; i < bind_groups_.size(); ++i) {
    const record::BindGroup& group = bind_group_records_[i];
    if (std::find(group.buffers, group.buffers + group.count, id) == group.buffers + group.count) continue;
    bind_groups_[i].reset();
    groups_to_make_.push_back(static_cast<uint32_t>(i));
  }
  if (id == params_) params_group_.reset();
  if (!poison_ || !buffers_[id].own) return;
  CommandRecorder commands(*gpu_, nullptr);
  poison_->fill(commands, buffers_[id].buffer, buffers_[id].size, Poison::kGuardBytes);
  commands.submit();
}

// Destroying frees the memory even if a bind group still refers to the buffer; WebGPU waits for work that uses it.
void Replayer::release_buffer(Buffer& buffer) {
  if (buffer.own) {
    gpu_->api().BufferDestroy(buffer.own.get());
    allocated_bytes_ -= buffer.size;
  }
  buffer = {};
}

// ---- pipelines and bind groups ----

Result<void> Replayer::start_pipelines(const record::Tables& tables) {
  for (size_t i = pipelines_.size(); i < tables.pipelines.size(); ++i) {
    SCONCE_TRY(Pipeline * pipeline, gpu_->pipelines().start(tables.pipelines[i]));
    pipelines_.push_back(pipeline);
  }
  return {};
}

Result<void> Replayer::create_bind_groups(const record::Tables& tables) {
  for (size_t i = bind_group_records_.size(); i < tables.bind_groups.size(); ++i) {
    bind_group_records_.push_back(tables.bind_groups[i]);
    bind_groups_.emplace_back();
    groups_to_make_.push_back(static_cast<uint32_t>(i));
  }
  if (groups_to_make_.empty()) return {};
  ErrorScope scope(*gpu_);
  while (!groups_to_make_.empty()) {
    const uint32_t id = groups_to_make_.back();
    const record::BindGroup& wanted = bind_group_records_[id];
    const bool usable = std::all_of(wanted.buffers, wanted.buffers + wanted.count,
                                    [&](uint32_t buffer) { return buffers_[buffer].buffer != nullptr; });
    // With a retired buffer no later Step uses the group.
    if (usable && !bind_groups_[id]) {
      SCONCE_TRY(bind_groups_[id], create_bind_group(wanted));
    }
    groups_to_make_.pop_back();
  }
  return scope.finish("the bind groups of a Step");
}

Result<Handle<WGPUBindGroup>> Replayer::create_bind_group(const record::BindGroup& wanted) {
  const Pipeline& pipeline = *pipelines_[wanted.pipeline];
  WGPUBindGroupEntry entries[record::kMaxBindings];
  for (uint32_t i = 0; i < wanted.count; ++i) {
    const Buffer& buffer = buffers_[wanted.buffers[i]];
    if (buffer.size > gpu_->capabilities().max_storage_binding_bytes)
      return fail(ErrorCode::unsupported,
                  "Binding {} of the kernel {} is {} of {} bytes, but {} allows {} bytes in a binding.", i,
                  pipeline.label, purpose_of(buffer.use), buffer.size, gpu_->adapter().name,
                  gpu_->capabilities().max_storage_binding_bytes);
    entries[i] = WGPU_BIND_GROUP_ENTRY_INIT;
    entries[i].binding = i;
    entries[i].buffer = buffer.buffer;
    entries[i].size = buffer.size;
  }
  WGPUBindGroupDescriptor descriptor = WGPU_BIND_GROUP_DESCRIPTOR_INIT;
  descriptor.label = view(pipeline.label);
  descriptor.layout = pipeline.layout;
  descriptor.entryCount = wanted.count, descriptor.entries = entries;
  return Handle<WGPUBindGroup>(gpu_->api().DeviceCreateBindGroup(gpu_->device(), &descriptor),
                               gpu_->api().BindGroupRelease);
}

Result<void> Replayer::create_params_group(const record::Tables& tables) {
  params_ = tables.params;
  if (params_ == record::kNone || params_group_) return {};
  WGPUBindGroupEntry entries[] = {WGPU_BIND_GROUP_ENTRY_INIT, WGPU_BIND_GROUP_ENTRY_INIT};
  entries[0].buffer = entries[1].buffer = buffers_[params_].buffer;
  entries[0].size = record::kParamsBytes;
  entries[1].binding = 1;
  entries[1].size = record::kLiveBytes;
  WGPUBindGroupDescriptor descriptor = WGPU_BIND_GROUP_DESCRIPTOR_INIT;
  descriptor.layout = gpu_->pipelines().params_layout();
  descriptor.entryCount = 2, descriptor.entries = entries;
  ErrorScope scope(*gpu_);
  params_group_ = {gpu_->api().DeviceCreateBindGroup(gpu_->device(), &descriptor), gpu_->api().BindGroupRelease};
  params_are_new_ = true;
  return scope.finish("the bind group of the parameters");
}

}  // namespace sconce::webgpu
