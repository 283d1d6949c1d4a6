#include "webgpu/replayer.h"

#include <cassert>

namespace sconce::webgpu {

Replayer::Replayer(std::shared_ptr<Gpu> gpu, ReplayerOptions options, const Replayer* shared)
    : gpu_(std::move(gpu)), options_(options), shared_(shared), read_backs_(std::make_shared<ReadBackPool>(gpu_)) {
  if (options_.poison) poison_.emplace(*gpu_);
  if (options_.profile) timer_.emplace(*gpu_);
}

Replayer::~Replayer() {
  for (Buffer& buffer : buffers_) release_buffer(buffer);
}

Result<void> Replayer::prepare(const record::Tables& tables) {
  SCONCE_DO(start(tables));
  for (Pipeline* pipeline : pipelines_) SCONCE_DO(gpu_->pipelines().finish(*pipeline));
  return {};
}

// ---- submitting ----

Result<PendingRead> Replayer::submit(record::Step& step, size_t phase_index, const ByteProvider& bytes) {
  assert(phase_index < step.phases.size());
  const record::Phase& phase = step.phases[phase_index];
  SCONCE_DO(gpu_->check());
  if (poison_ && phase_index == 0) poison_run();
  auto start = std::chrono::steady_clock::now();
  write_params(step);
  CommandRecorder commands(*gpu_, timer_ ? &*timer_ : nullptr);
  commands.use_params(params_group_.get());
  SCONCE_DO(encode(step, phase, commands, bytes));
  std::vector<GpuRange> ranges;
  for (const record::ReadBack& read : phase.read_backs) ranges.push_back({buffers_[read.buffer].buffer, 0, read.size});
  ReadBacks reads(read_backs_);
  SCONCE_DO(reads.record(commands, ranges));
  note("encode", start);
  start = std::chrono::steady_clock::now();
  commands.submit();
  PendingRead pending = reads.map();
  note("submit", start);
  if (timer_) SCONCE_DO(finish_profile(step, phase));
  SCONCE_DO(gpu_->check());
  return pending;
}

void Replayer::write_params(record::Step& step) {
  if (params_ == record::kNone) return;
  if (params_are_new_) step.dirty_params = {0, step.params.size()};
  params_are_new_ = false;
  record::DirtyRange range = std::exchange(step.dirty_params, {});
  if (range.empty()) return;
  // Whole words; a slot is 256 bytes, so rounding never leaves the array.
  range.begin = range.begin / 4 * 4;
  range.end = (range.end + 3) / 4 * 4;
  gpu_->api().QueueWriteBuffer(gpu_->queue(), buffers_[params_].buffer, range.begin, step.params.data() + range.begin,
                               range.end - range.begin);
}

// Writes reach the GPU before the commands that are submitted after them, so what was recorded up to a write goes
// first.
Result<void> Replayer::encode(const record::Step& step, const record::Phase& phase, CommandRecorder& commands,
                              const ByteProvider& bytes) {
  Uploader uploader(*gpu_);
  for (const record::Command& command : std::span(step.commands).subspan(phase.first, phase.count)) {
    switch (command.kind) {
      case record::CommandKind::dispatch:
        SCONCE_DO(encode_dispatch(command, commands));
        break;
      case record::CommandKind::copy:
        commands.copy(buffers_[command.from].buffer, command.from_offset, buffers_[command.to].buffer,
                      command.to_offset, command.size);
        break;
      case record::CommandKind::clear:
        commands.clear(buffers_[command.to].buffer, command.to_offset, command.size);
        break;
      case record::CommandKind::upload:
        commands.submit();
        SCONCE_DO(uploader.upload(command, buffers_[command.to].buffer, bytes));
        break;
      case record::CommandKind::write:
        if (command.size == 0) break;
        commands.submit();
        assert(command.from_offset + command.size <= step.host_bytes.size());
        gpu_->api().QueueWriteBuffer(gpu_->queue(), buffers_[command.to].buffer, command.to_offset,
                                     step.host_bytes.data() + command.from_offset, command.size);
        break;
    }
  }
  return {};
}

Result<void> Replayer::encode_dispatch(const record::Command& command, CommandRecorder& commands) {
  Pipeline& pipeline = *pipelines_[command.pipeline];
  if (!pipeline.pipeline) SCONCE_DO(gpu_->pipelines().finish(pipeline));
  commands.dispatch(command, pipeline.pipeline.get(), bind_groups_[command.bind_group].get());
  return {};
}

// ---- tests and profiles ----

void Replayer::poison_run() {
  CommandRecorder commands(*gpu_, nullptr);
  for (const Buffer& buffer : buffers_)
    if (buffer.own && (buffer.use == record::BufferUse::activation || buffer.use == record::BufferUse::scratch))
      poison_->fill(commands, buffer.own.get(), 0, buffer.size);
  commands.submit();
}

Result<void> Replayer::check_guards() {
  if (!poison_) return {};
  std::vector<GpuRange> guards;
  std::vector<uint32_t> ids;
  for (uint32_t id = 0; id < buffers_.size(); ++id) {
    const Buffer& buffer = buffers_[id];
    if (!buffer.own) continue;
    guards.push_back({buffer.buffer, buffer.size, Poison::kGuardBytes});
    ids.push_back(id);
  }
  CommandRecorder commands(*gpu_, nullptr);
  ReadBacks reads(read_backs_);
  SCONCE_DO(reads.record(commands, guards));
  commands.submit();
  PendingRead pending = reads.map();
  SCONCE_DO(pending.wait());
  std::string broken;
  for (size_t i = 0; i < ids.size(); ++i)
    if (!is_poison(pending.bytes(i))) broken += fmt::format(" {} ({} bytes)", ids[i], buffers_[ids[i]].size);
  if (broken.empty()) return {};
  return fail(ErrorCode::internal, "A kernel writes past the end of the buffers{}.", broken);
}

Result<void> Replayer::finish_profile(const record::Step& step, const record::Phase& phase) {
  const auto start = std::chrono::steady_clock::now();
  SCONCE_TRY(std::vector<DispatchTime> times, timer_->collect());
  note("wait", start);
  size_t at = phase.first;
  for (DispatchTime& time : times) {
    while (step.commands[at].kind != record::CommandKind::dispatch) ++at;
    if (at < step.uses.size())
      for (const record::Use& use : step.uses[at]) time.bytes += use.bytes;
    ++at;
    time.kernel = pipelines_[time.pipeline]->label;
    profile_.push_back(std::move(time));
  }
  return {};
}

}  // namespace sconce::webgpu
