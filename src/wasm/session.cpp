// Runs: the host pumps runtime::Session as src/webgpu/session.cpp does, in the order that runtime/session.h describes.
#include "wasm/session.h"

namespace sconce::wasm {
namespace {

Result<std::vector<TensorView>> read_inputs(std::span<const TensorEntry> entries) {
  std::vector<TensorView> inputs;
  for (const TensorEntry& entry : entries) {
    SCONCE_TRY(Shape shape, Shape::from(std::span(entry.dims).first(std::min<uint32_t>(entry.rank, Shape::kMaxRank))));
    inputs.push_back({static_cast<Dtype>(entry.dtype), shape, span_at<std::byte>(entry.at, entry.size)});
  }
  return inputs;
}

const StepView* give_aside(RunningSession& running, record::Step step) {
  running.aside = std::move(step);
  running.aside.dirty_params = {0, running.aside.params.size()};
  view_step(running.session.tables(), running.aside, 0, running.step);
  return &running.step;
}

}  // namespace

void view_step(const record::Tables& tables, const record::Step& step, size_t phase_index, StepView& view) {
  const record::Phase& phase = step.phases[phase_index];
  auto count = [](const auto& list) { return static_cast<uint32_t>(list.size()); };
  view = {.buffers = address_of(tables.buffers.data()),
          .buffer_count = count(tables.buffers),
          .pipelines = address_of(tables.pipelines.data()),
          .pipeline_count = count(tables.pipelines),
          .bind_groups = address_of(tables.bind_groups.data()),
          .bind_group_count = count(tables.bind_groups),
          .params_buffer = tables.params,
          .commands = address_of(step.commands.data() + phase.first),
          .command_count = phase.count,
          .params = address_of(step.params.data()),
          .params_bytes = count(step.params),
          .dirty_begin = static_cast<uint32_t>(step.dirty_params.begin),
          .dirty_end = static_cast<uint32_t>(step.dirty_params.end),
          .host_bytes = address_of(step.host_bytes.data()),
          .host_byte_count = count(step.host_bytes),
          .read_backs = address_of(phase.read_backs.data()),
          .read_back_count = count(phase.read_backs)};
}

RunningSession* make_session(const LoadedModel& model, std::shared_ptr<const planner::Method> method) {
  const planner::Method& prepared = *method;
  return new RunningSession{std::move(method), runtime::Session(*model.model, prepared), {}, {}, {}};
}

// A session of a method, or 0.
SCONCE_EXPORT(session_create) RunningSession* session_create(const LoadedModel* model, const char* method) {
  if (const planner::Method* prepared = model->model->method(method)) {
    const std::shared_ptr<const void> no_owner;  // the model, which outlives its sessions, owns the method
    return make_session(*model, std::shared_ptr<const planner::Method>(no_owner, prepared));
  }
  give_error({ErrorCode::not_found, fmt::format("The model has no method {}.", method), {}});
  return nullptr;
}
SCONCE_EXPORT(session_delete) void session_delete(RunningSession* running) {
  delete running;
}

// Steps outside of runs.
SCONCE_EXPORT(session_reset) const StepView* session_reset(RunningSession* running) {
  return give_aside(*running, running->session.reset());
}
SCONCE_EXPORT(session_warm_up) const StepView* session_warm_up(RunningSession* running) {
  return give_aside(*running, running->session.warm_up());
}

// Plans a run; afterwards the tables of session_tables() are to be prepared.
SCONCE_EXPORT(session_start)
uint32_t session_start(RunningSession* running, const TensorEntry* inputs, uint32_t count) {
  auto views = read_inputs({inputs, count});
  return views ? status(running->session.start(*views)) : give_error(views.error());
}
SCONCE_EXPORT(session_abandon) void session_abandon(RunningSession* running) {
  running->session.abandon();
}
// The phase to submit. Taking it counts as submitting its dirty parameters.
SCONCE_EXPORT(session_commit) const StepView* session_commit(RunningSession* running) {
  record::Step& step = running->session.commit();
  view_step(running->session.tables(), step, running->session.phase(), running->step);
  step.dirty_params = {};
  return &running->step;
}
// Every call fails with this sentence from now on, until session_reset().
SCONCE_EXPORT(session_fail) void session_fail(RunningSession* running, const char* message, bool lost) {
  running->session.fail({lost ? ErrorCode::device_lost : ErrorCode::internal, message, {}});
}
// Whether the phase is the run's last: then the next run may start before this one is finished.
SCONCE_EXPORT(session_in_last_phase) bool session_in_last_phase(const RunningSession* running) {
  return running->session.in_last_phase();
}

// Takes the read-backs of the phase: 1 when the outputs are there, 0 when another phase is to be committed.
SCONCE_EXPORT(session_finish_phase)
uint32_t session_finish_phase(RunningSession* running, const BytesView* reads, uint32_t count) {
  std::vector<std::span<const std::byte>> bytes;
  for (const BytesView& read : std::span(reads, count)) bytes.push_back(span_at<std::byte>(read.at, read.size));
  auto outputs = running->session.finish_phase(bytes);
  if (!outputs) return give_error(outputs.error());
  if (!*outputs) return 0;
  running->outputs = **std::move(outputs);
  return 1;
}

// Output `index` of the last run; false when there is none.
SCONCE_EXPORT(session_output) bool session_output(const RunningSession* running, uint32_t index, TensorEntry* entry) {
  if (index >= running->outputs.size()) return false;
  const Tensor& output = running->outputs[index];
  *entry = {static_cast<uint32_t>(output.dtype), static_cast<uint32_t>(output.shape.rank()),
            address_of(output.bytes.data()), static_cast<uint32_t>(output.bytes.size())};
  std::ranges::copy(output.shape, entry->dims);
  return true;
}

// The tables alone, to prepare before commit.
SCONCE_EXPORT(session_tables) const StepView* session_tables(RunningSession* running) {
  static const record::Step empty{.phases = {{}}};
  view_step(running->session.tables(), empty, 0, running->step);
  return &running->step;
}

}  // namespace sconce::wasm
