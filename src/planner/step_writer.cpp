#include "planner/step_writer.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/math.h"

namespace sconce::planner {
namespace {

uint64_t mix(uint64_t hash, uint64_t value) {
  return (hash ^ value) * 0x9e3779b97f4a7c15ull + std::rotl(hash, 29);
}

bool same(const record::BindGroup& a, const record::BindGroup& b) {
  return a.pipeline == b.pipeline && a.count == b.count && std::equal(a.buffers, a.buffers + a.count, b.buffers);
}

}  // namespace

uint32_t add_buffer(record::Tables& tables, uint64_t bytes, record::BufferUse use) {
  tables.buffers.push_back({std::max<uint64_t>(16, round_up(bytes, 16)), use, record::kNone});
  return static_cast<uint32_t>(tables.buffers.size() - 1);
}

uint32_t Interner::dummy() {
  if (dummy_ == record::kNone) dummy_ = add_buffer(tables_, 16, record::BufferUse::constant);
  return dummy_;
}

uint32_t Interner::sink(size_t i) {
  auto [found, added] = sinks_.try_emplace(i);
  if (added) found->second = add_buffer(tables_, 16, record::BufferUse::scratch);
  return found->second;
}

Result<Resolved> Interner::intern(const ops::PlannedCommand& command, std::span<const uint32_t> buffers) {
  Resolved resolved;
  if (command.kernel == nullptr) {
    resolved.from = buffers[0];
    resolved.to = buffers[1];
    resolved.is_noop = buffers[0] == buffers[1] && command.from_offset == command.to_offset;
    if (buffers[0] == buffers[1] && !resolved.is_noop)
      return fail(ErrorCode::internal, "A copy reads and writes buffer {}.", buffers[0]);
    return resolved;
  }
  const record::KernelInfo& kernel = *command.kernel;
  // WebGPU forbids a buffer that is read and written in one dispatch; its own message would not name the operands.
  for (size_t i = 0; i < buffers.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (buffers[i] == buffers[j] &&
          (kernel.bindings[i].access == record::Access::write || kernel.bindings[j].access == record::Access::write))
        return fail(ErrorCode::unsupported, "Kernel {} would read {} and write {} in one buffer.", kernel.name,
                    kernel.bindings[i].name, kernel.bindings[j].name);

  const uint64_t pipeline_key = uint64_t{kernel.id} << 32 | command.variant;
  auto [pipeline, added] = pipelines_.try_emplace(pipeline_key, static_cast<uint32_t>(tables_.pipelines.size()));
  if (added) tables_.pipelines.push_back({kernel.id, command.variant});
  resolved.pipeline = pipeline->second;

  record::BindGroup group;
  group.pipeline = resolved.pipeline;
  group.count = static_cast<uint32_t>(buffers.size());
  std::ranges::copy(buffers, group.buffers);
  uint64_t hash = group.pipeline;
  for (uint32_t buffer : buffers) hash = mix(hash, buffer);
  auto [first, last] = bind_groups_.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (same(tables_.bind_groups[it->second], group)) resolved.bind_group = it->second;
  if (resolved.bind_group == record::kNone) {
    resolved.bind_group = static_cast<uint32_t>(tables_.bind_groups.size());
    tables_.bind_groups.push_back(group);
    bind_groups_.emplace(hash, resolved.bind_group);
  }
  return resolved;
}

record::Command make_command(const ops::PlannedCommand& planned, const Resolved& resolved, uint32_t node,
                             uint32_t params_slot, std::byte* params) {
  record::Command command;
  command.node = node;
  if (planned.kernel == nullptr) {
    command.kind = record::CommandKind::copy;
    command.from = resolved.from;
    command.to = resolved.to;
    command.from_offset = planned.from_offset;
    command.to_offset = planned.to_offset;
    command.size = planned.size;
    return command;
  }
  command.pipeline = resolved.pipeline;
  command.bind_group = resolved.bind_group;
  command.params_slot = params_slot;
  std::ranges::copy(planned.grid, command.grid);
  std::memcpy(params, planned.params.data(), planned.kernel->params_bytes);
  return command;
}

record::Uses make_uses(const ops::PlannedCommand& planned, std::span<const uint32_t> roots) {
  record::Uses uses;
  const size_t count = planned.kernel ? planned.kernel->bindings.size() : 2;
  for (size_t i = 0; i < count; ++i) {
    const ops::Operand& operand = planned.operands[i];
    const bool is_value = operand.kind == ops::Operand::Kind::value && operand.id < roots.size();
    uses[i] = {is_value ? roots[operand.id] : record::kNone, operand.bytes};
  }
  return uses;
}

void StepWriter::upload(uint32_t source, uint64_t source_offset, uint32_t to, uint64_t to_offset, uint64_t size,
                        record::Convert convert) {
  record::Command command;
  command.kind = record::CommandKind::upload;
  command.from = source;
  command.from_offset = source_offset;
  command.to = to;
  command.to_offset = to_offset;
  command.size = size;
  command.convert = convert;
  add(command);
}

void StepWriter::copy(uint32_t from, uint32_t to, uint64_t size) {
  record::Command command;
  command.kind = record::CommandKind::copy;
  command.from = from;
  command.to = to;
  command.size = size;
  add(command);
}

void StepWriter::clear(uint32_t buffer, uint64_t size) {
  record::Command command;
  command.kind = record::CommandKind::clear;
  command.to = buffer;
  command.size = size;
  add(command);
}

void StepWriter::add(const record::Command& command) {
  step_.commands.push_back(command);
  step_.uses.push_back({record::Use{record::kNone, command.size}, record::Use{record::kNone, command.size}});
}

void StepWriter::add(const ops::PlannedCommand& planned, const Resolved& resolved, uint32_t node) {
  const uint32_t slot = slots_;
  if (planned.kernel != nullptr) {
    ++slots_;
    step_.params.resize(size_t{slots_} * record::kParamsBytes);
  }
  step_.commands.push_back(
      make_command(planned, resolved, node, slot, step_.params.data() + size_t{slot} * record::kParamsBytes));
  step_.uses.push_back(make_uses(planned, {}));
}

record::Step StepWriter::finish() {
  step_.params.resize(std::max<size_t>(step_.params.size(), record::kLiveBytes));
  step_.phases = {{0, static_cast<uint32_t>(step_.commands.size()), {}}};
  // Not the table of live integers: it belongs to the runs of a session, whose resets are written here too.
  if (step_.params.size() > record::kLiveBytes) step_.dirty_params = {record::kLiveBytes, step_.params.size()};
  reserve_params(interner_.tables(), step_.params.size());
  return std::move(step_);
}

void reserve_params(record::Tables& tables, uint64_t bytes) {
  bytes = std::max<uint64_t>(bytes, record::kLiveBytes);
  if (tables.params != record::kNone) {
    if (tables.buffers[tables.params].size >= bytes) return;
    tables.buffers[tables.params].use = record::BufferUse::retired;
  }
  tables.params = add_buffer(tables, std::bit_ceil(bytes), record::BufferUse::params);
}

}  // namespace sconce::planner
