// The part of the check executor that looks at one command.
#include <algorithm>
#include <array>

#include "base/math.h"
#include "record/check.h"

namespace sconce::record {
namespace {

const char* name_of(BufferUse use) {
  static constexpr const char* kNames[] = {"constant", "shared", "state",   "activation",
                                           "scratch",  "params", "staging", "retired"};
  return kNames[static_cast<size_t>(use)];
}

const char* name_of(StepKind kind) {
  static constexpr const char* kNames[] = {"load", "setup", "run"};
  return kNames[static_cast<size_t>(kind)];
}

const char* name_of(CommandKind kind) {
  static constexpr const char* kNames[] = {"dispatch", "copy", "clear", "upload", "write"};
  return kNames[static_cast<size_t>(kind)];
}

bool may_touch(BufferUse use, StepKind kind, Access access) {
  if (kind == StepKind::load) return use == BufferUse::constant || use == BufferUse::staging;
  if (use == BufferUse::constant || use == BufferUse::shared) return access == Access::read;
  return use == BufferUse::state || use == BufferUse::activation || use == BufferUse::scratch;
}

// Tensors take turns in these; all other buffers belong to one tensor.
bool changes_owner(BufferUse use) {
  return use == BufferUse::activation || use == BufferUse::scratch;
}

}  // namespace

Result<void> CheckExecutor::check_command(const Step& step, size_t index) {
  const Command& command = step.commands[index];
  if (command.kind == CommandKind::dispatch) return check_dispatch(step, command, step.uses[index]);
  return check_transfer(step, command, step.uses[index]);
}

// ---- dispatches ----

Result<void> CheckExecutor::check_dispatch(const Step& step, const Command& command, const Uses& uses) {
  if (command.pipeline >= tables_->pipelines.size())
    return fail(ErrorCode::internal, "There is no pipeline {}; there are {}.", command.pipeline,
                tables_->pipelines.size());
  if (command.bind_group >= tables_->bind_groups.size())
    return fail(ErrorCode::internal, "There is no bind group {}; there are {}.", command.bind_group,
                tables_->bind_groups.size());
  const BindGroup& group = tables_->bind_groups[command.bind_group];
  if (group.pipeline != command.pipeline)
    return fail(ErrorCode::internal, "Bind group {} belongs to pipeline {}, but pipeline {} is dispatched.",
                command.bind_group, group.pipeline, command.pipeline);
  const KernelInfo& kernel = kernels_[tables_->pipelines[command.pipeline].kernel];
  SCONCE_DO(check_grid(command));
  SCONCE_DO(check_params_slot(step, command, kernel));
  SCONCE_DO(check_bindings(group, kernel, uses));
  if (kind_ == StepKind::setup) return {};  // its counts are zero: it neither reads nor writes
  for (uint32_t i = 0; i < group.count; ++i)
    if (kernel.bindings[i].access == Access::read)
      SCONCE_DO(read({group.buffers[i], 0, uses[i].bytes, uses[i].value, command.node}));
  for (uint32_t i = 0; i < group.count; ++i)
    if (kernel.bindings[i].access == Access::write)
      SCONCE_DO(write({group.buffers[i], 0, round_up(uses[i].bytes, 4), uses[i].value, command.node}));
  return {};
}

Result<void> CheckExecutor::check_grid(const Command& command) const {
  const uint32_t limit = capabilities_.max_workgroups_per_dimension;
  for (uint32_t dim : command.grid)
    if (dim == 0 || dim > limit)
      return fail(ErrorCode::internal, "The grid is {} x {} x {}, but each dim must be from 1 to {}.", command.grid[0],
                  command.grid[1], command.grid[2], limit);
  return {};
}

Result<void> CheckExecutor::check_params_slot(const Step& step, const Command& command,
                                              const KernelInfo& kernel) const {
  const uint64_t begin = uint64_t{command.params_slot} * kParamsBytes;
  if (tables_->params == kNone || begin + kParamsBytes > step.params.size())
    return fail(ErrorCode::internal, "Parameter slot {} lies past the {} bytes of parameters.", command.params_slot,
                tables_->params == kNone ? 0 : step.params.size());
  auto changed = [&](uint64_t i) { return step.params[i] != params_[i]; };
  uint64_t i = 0;
  const uint64_t live_end = std::min<uint64_t>(kLiveBytes, step.params.size());
  while (i < live_end && !changed(i)) ++i;
  if (i == live_end) i = begin;
  while (i < begin + kernel.params_bytes && !changed(i)) ++i;
  if (i < begin + kernel.params_bytes)
    return fail(ErrorCode::internal, "Byte {} of the parameters changed outside of the dirty range {} to {}.", i,
                step.dirty_params.begin, step.dirty_params.end);
  return {};
}

Result<void> CheckExecutor::check_bindings(const BindGroup& group, const KernelInfo& kernel, const Uses& uses) const {
  if (group.count != kernel.bindings.size())
    return fail(ErrorCode::internal, "The bind group has {} buffers, but the kernel binds {}.", group.count,
                kernel.bindings.size());
  for (uint32_t i = 0; i < group.count; ++i) {
    const KernelBinding& binding = kernel.bindings[i];
    SCONCE_DO(check_range(group.buffers[i], 0, uses[i].bytes));
    const Buffer& buffer = tables_->buffers[group.buffers[i]];
    if (!may_touch(buffer.use, kind_, binding.access))
      return fail(ErrorCode::internal, "A {} Step must not {} buffer {}, bound as {}.", name_of(kind_),
                  binding.access == Access::read ? "read" : "write", label(group.buffers[i]), binding.name);
    if (buffer.size > capabilities_.max_storage_binding_bytes)
      return fail(ErrorCode::internal, "Buffer {} is bound as {}, but this device binds at most {} bytes.",
                  label(group.buffers[i]), binding.name, capabilities_.max_storage_binding_bytes);
    for (uint32_t j = 0; j < i; ++j)
      if (group.buffers[i] == group.buffers[j] &&
          (binding.access == Access::write || kernel.bindings[j].access == Access::write))
        return fail(ErrorCode::internal, "Buffer {} is bound as {} and {}, of which one is written.",
                    label(group.buffers[i]), kernel.bindings[j].name, binding.name);
  }
  return {};
}

// ---- copies, clears, uploads and writes ----

Result<void> CheckExecutor::check_transfer(const Step& step, const Command& command, const Uses& uses) {
  const bool is_upload = command.kind == CommandKind::upload;
  const uint64_t size = is_upload && command.convert != Convert::none ? command.size / 2 : command.size;
  const uint64_t end = command.to_offset + round_up(size, 4);
  if (command.to_offset % 4 != 0 || (!is_upload && (command.size % 4 != 0 || command.from_offset % 4 != 0)))
    return fail(ErrorCode::internal, "{} bytes from offset {} go to offset {}, which are not all multiples of 4.",
                command.size, command.from_offset, command.to_offset);
  if (command.size == 0 && command.kind != CommandKind::write)
    return fail(ErrorCode::internal, "Nothing is moved: its size is 0 bytes.");
  SCONCE_DO(check_range(command.to, command.to_offset, round_up(size, 4)));
  const BufferUse to = tables_->buffers[command.to].use;
  const bool allowed = is_upload ? kind_ == StepKind::load
                       : command.kind == CommandKind::write
                           ? kind_ == StepKind::run && may_hold_input(to, uses[0].value)
                           : true;
  if (!allowed || !may_touch(to, kind_, Access::write))
    return fail(ErrorCode::internal, "A {} Step must not {} to buffer {}.", name_of(kind_), name_of(command.kind),
                label(command.to));
  if (command.kind == CommandKind::write &&
      (command.from_offset > step.host_bytes.size() || command.size > step.host_bytes.size() - command.from_offset))
    return fail(ErrorCode::internal, "{} bytes at offset {} are written, but the inputs have {} bytes.", command.size,
                command.from_offset, step.host_bytes.size());
  if (command.kind == CommandKind::copy) {
    SCONCE_DO(check_range(command.from, command.from_offset, command.size));
    if (command.from == command.to)
      return fail(ErrorCode::internal, "Buffer {} is copied to itself.", label(command.from));
    if (!may_touch(tables_->buffers[command.from].use, kind_, Access::read))
      return fail(ErrorCode::internal, "A {} Step must not copy from buffer {}.", name_of(kind_), label(command.from));
    // A copy moves whole words; the tail of the last one need not hold anything.
    const uint64_t from_end =
        std::min(command.from_offset + command.size, std::max(uses[0].bytes, command.from_offset));
    SCONCE_DO(read({command.from, command.from_offset, from_end, uses[0].value, command.node}));
  }
  const Use& use = uses[command.kind == CommandKind::copy ? 1 : 0];
  return write({command.to, command.to_offset, end, use.value, command.node});
}

// Inputs lie in activations, but for those that a run may leave as an earlier one wrote them.
bool CheckExecutor::may_hold_input(BufferUse use, uint32_t value) const {
  if (use == BufferUse::activation) return true;
  return use == BufferUse::state && graph_ && std::ranges::find(graph_->inputs, value) != graph_->inputs.end();
}

// ---- contents ----

Result<void> CheckExecutor::read(const Region& region) const {
  const BufferUse use = tables_->buffers[region.buffer].use;
  if (use == BufferUse::shared || region.begin >= region.end) return {};
  const Contents& contents = contents_[region.buffer];
  const uint32_t owner = use == BufferUse::scratch ? region.node : region.value;
  if (changes_owner(use) && contents.owner != owner)
    return fail(ErrorCode::internal, "A read wants {} in buffer {}, which holds {}.", owner_label(region.buffer, owner),
                label(region.buffer), owner_label(region.buffer, contents.owner));
  if (!contents.written.contains(region.begin, region.end))
    return fail(ErrorCode::internal, "Bytes {} to {} of buffer {} are read, but nothing wrote all of them.",
                region.begin, region.end, label(region.buffer));
  return {};
}

Result<void> CheckExecutor::write(const Region& region) {
  const BufferUse use = tables_->buffers[region.buffer].use;
  const uint32_t owner = use == BufferUse::scratch ? region.node : region.value;
  Contents& contents = contents_[region.buffer];
  if (changes_owner(use)) {
    if (owner == kNone)
      return fail(ErrorCode::internal, "It is not known which tensor is written to buffer {}.", label(region.buffer));
    if (contents.owner != owner) contents = {owner, {}};
  }
  contents.written.add(region.begin, region.end);
  return {};
}

// ---- ranges and names ----

Result<void> CheckExecutor::check_range(uint32_t buffer, uint64_t offset, uint64_t size) const {
  if (buffer >= tables_->buffers.size())
    return fail(ErrorCode::internal, "There is no buffer {}; there are {}.", buffer, tables_->buffers.size());
  const uint64_t room = tables_->buffers[buffer].size;
  if (offset > room || size > room - offset)
    return fail(ErrorCode::internal, "{} bytes at offset {} lie past the end of buffer {}.", size, offset,
                label(buffer));
  return {};
}

std::string CheckExecutor::place(const Command& command, size_t index) const {
  std::string place = fmt::format("command {} ({}", index, name_of(command.kind));
  if (command.kind == CommandKind::dispatch && command.pipeline < tables_->pipelines.size()) {
    const Pipeline& pipeline = tables_->pipelines[command.pipeline];
    place += fmt::format(" of {}", kernel_label(kernels_[pipeline.kernel], pipeline.variant));
  }
  if (command.node == kNone) return place + ")";
  if (!graph_ || command.node >= graph_->nodes.size()) return place + fmt::format(", node {})", command.node);
  const graph::Node& node = graph_->nodes[command.node];
  return place + fmt::format(", node {}, {})", node.name, node.op);
}

std::string CheckExecutor::label(uint32_t buffer) const {
  if (buffer >= tables_->buffers.size()) return fmt::format("{} (missing)", buffer);
  return fmt::format("{} ({}, {} bytes)", buffer, name_of(tables_->buffers[buffer].use), tables_->buffers[buffer].size);
}

std::string CheckExecutor::owner_label(uint32_t buffer, uint32_t owner) const {
  if (owner == kNone) return "nothing";
  const bool is_scratch = tables_->buffers[buffer].use == BufferUse::scratch;
  return fmt::format("{} {}", is_scratch ? "the scratch memory of node" : "value", owner);
}

}  // namespace sconce::record
