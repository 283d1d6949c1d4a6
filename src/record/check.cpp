#include "record/check.h"

#include <algorithm>

namespace sconce::record {

void ByteSet::add(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  auto first = std::ranges::lower_bound(ranges_, begin, {}, &Range::end);
  auto last = first;
  while (last != ranges_.end() && last->begin <= end) {
    begin = std::min(begin, last->begin);
    end = std::max(end, last->end);
    ++last;
  }
  ranges_.insert(ranges_.erase(first, last), {begin, end});
}

bool ByteSet::contains(uint64_t begin, uint64_t end) const {
  if (begin >= end) return true;
  auto range = std::ranges::lower_bound(ranges_, end, {}, &Range::end);
  return range != ranges_.end() && range->begin <= begin;
}

Result<void> CheckExecutor::check(const Tables& tables, const Step& step, StepKind kind, size_t phase) {
  tables_ = &tables;
  kind_ = kind;
  contents_.resize(tables.buffers.size());
  SCONCE_DO(check_buffers());
  for (size_t i = 0; i < tables.pipelines.size(); ++i)
    if (auto checked = check_pipeline(tables.pipelines[i]); !checked)
      return std::unexpected(std::move(checked).error().within(fmt::format("pipeline {}", i)));
  SCONCE_DO(check_phases(step, phase));
  SCONCE_DO(update_params(step));
  if (kind == StepKind::run && phase == 0)
    for (size_t b = 0; b < contents_.size(); ++b)
      if (tables.buffers[b].use == BufferUse::activation || tables.buffers[b].use == BufferUse::scratch)
        contents_[b] = {};
  const Phase& range = step.phases[phase];
  for (size_t i = range.first; i < size_t{range.first} + range.count; ++i)
    if (auto checked = check_command(step, i); !checked)
      return std::unexpected(std::move(checked).error().within(place(step.commands[i], i)));
  for (size_t i = 0; i < range.read_backs.size(); ++i)
    if (auto checked = check_read_back(range.read_backs[i]); !checked)
      return std::unexpected(std::move(checked).error().within(fmt::format("read-back {} of phase {}", i, phase)));
  return {};
}

Result<void> CheckExecutor::check_buffers() const {
  const std::vector<Buffer>& buffers = tables_->buffers;
  for (uint32_t b = 0; b < buffers.size(); ++b) {
    if (buffers[b].use == BufferUse::retired) continue;
    if (buffers[b].size < 16 || buffers[b].size % 16 != 0)
      return fail(ErrorCode::internal, "The size of buffer {} is not a multiple of 16, or none.", label(b));
    if (buffers[b].size > capabilities_.max_buffer_bytes)
      return fail(ErrorCode::internal, "Buffer {} is larger than the {} bytes that this device allows a buffer.",
                  label(b), capabilities_.max_buffer_bytes);
  }
  if (tables_->params == kNone) return {};
  if (tables_->params >= buffers.size() || buffers[tables_->params].use != BufferUse::params)
    return fail(ErrorCode::internal, "The parameters lie in buffer {}.", label(tables_->params));
  return {};
}

Result<void> CheckExecutor::check_pipeline(const Pipeline& pipeline) const {
  if (pipeline.kernel >= kernels_.size())
    return fail(ErrorCode::internal, "There is no kernel {}; there are {}.", pipeline.kernel, kernels_.size());
  const KernelInfo& kernel = kernels_[pipeline.kernel];
  if (pipeline.variant >= variant_count(kernel))
    return fail(ErrorCode::internal, "There is no variant {} of kernel {}; there are {}.", pipeline.variant,
                kernel.name, variant_count(kernel));
  bool f16 = kernel.enables.find("enable f16;") != std::string_view::npos;
  for (size_t i = 0; i < kernel.choices.size(); ++i) {
    f16 |= kernel.choices[i].kind == KernelChoice::Kind::type && chosen(kernel, pipeline.variant, i) == "f16";
  }
  if (kernel.subgroups && !capabilities_.subgroups)
    return fail(ErrorCode::internal, "Kernel {} needs subgroups, which this device lacks.", kernel.name);
  if (kernel.matrix && !has_matrix_16(capabilities_))
    return fail(ErrorCode::internal, "Kernel {} needs a matrix unit that this device lacks.", kernel.name);
  if (f16 && !capabilities_.f16)
    return fail(ErrorCode::internal, "Kernel {} needs shader-f16, which this device lacks.", kernel.name);
  if (kernel.invocations > capabilities_.max_invocations_per_workgroup)
    return fail(ErrorCode::internal, "A workgroup of {} has {} invocations, but this device allows {}.", kernel.name,
                kernel.invocations, capabilities_.max_invocations_per_workgroup);
  if (kernel.workgroup_bytes > capabilities_.max_workgroup_storage_bytes)
    return fail(ErrorCode::internal, "A workgroup of {} takes {} bytes of memory, but this device allows {}.",
                kernel.name, kernel.workgroup_bytes, capabilities_.max_workgroup_storage_bytes);
  if (kernel.bindings.size() > capabilities_.max_storage_buffers)
    return fail(ErrorCode::internal, "Kernel {} binds {} buffers, but this device allows {}.", kernel.name,
                kernel.bindings.size(), capabilities_.max_storage_buffers);
  return {};
}

Result<void> CheckExecutor::check_phases(const Step& step, size_t phase) const {
  if (phase >= step.phases.size())
    return fail(ErrorCode::internal, "There is no phase {}; the Step has {}.", phase, step.phases.size());
  size_t at = 0;
  for (const Phase& each : step.phases) {
    if (each.first != at)
      return fail(ErrorCode::internal, "A phase begins at command {}, but the one before it ends at {}.", each.first,
                  at);
    at += each.count;
  }
  if (at != step.commands.size() || at != step.uses.size())
    return fail(ErrorCode::internal, "The phases hold {} commands, but there are {}, with the uses of {}.", at,
                step.commands.size(), step.uses.size());
  return {};
}

// A driver writes the whole of a new parameter buffer, and of one that it has only what is dirty.
Result<void> CheckExecutor::update_params(const Step& step) {
  if (step.dirty_params.end > step.params.size())
    return fail(ErrorCode::internal, "The dirty parameters end at byte {} of {}.", step.dirty_params.end,
                step.params.size());
  if (tables_->params == kNone) return {};
  if (tables_->buffers[tables_->params].size < step.params.size())
    return fail(ErrorCode::internal, "{} bytes of parameters do not fit into buffer {}.", step.params.size(),
                label(tables_->params));
  const DirtyRange whole{0, step.params.size()};
  const DirtyRange range = tables_->params == params_buffer_ ? step.dirty_params : whole;
  params_buffer_ = tables_->params;
  params_.resize(tables_->buffers[tables_->params].size);
  if (!range.empty())
    std::copy(step.params.begin() + static_cast<ptrdiff_t>(range.begin),
              step.params.begin() + static_cast<ptrdiff_t>(range.end),
              params_.begin() + static_cast<ptrdiff_t>(range.begin));
  return {};
}

Result<void> CheckExecutor::check_read_back(const ReadBack& read_back) const {
  SCONCE_DO(check_range(read_back.buffer, 0, read_back.size));
  return read({read_back.buffer, 0, read_back.size, read_back.value, kNone});
}

}  // namespace sconce::record
