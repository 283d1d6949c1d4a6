// The second half of LivePlanner: from plans to the Step, and warming up.
#include <algorithm>
#include <cstring>

#include "base/math.h"
#include "planner/live_planner.h"

namespace sconce::planner {

void LivePlanner::commit(record::Step& step) {
  const bool last_phase = at_ == nodes_.size();
  step.dirty_params = {};
  if (can_patch()) {
    write_inputs(step);
    patch(step);
  } else {
    append(step);
  }
  write_live_integers(step);
  step_phases_ = step.phases.size();
  phase_start_ = at_;
  first_pending_ = plan_change_count_;
  reserve_params(tables_, step.params.size());
  if (last_phase) finish_run();
}

bool LivePlanner::can_patch() const {
  if (must_rewrite_ || phase_start_ > 0 || at_ < nodes_.size()) return false;
  for (size_t i = first_pending_; i < plan_change_count_; ++i) {
    const NodeState& now = nodes_[plan_changes_[i].node];
    const NodeState& old = plan_changes_[i].state;
    if (now.resolved.size() != old.resolved.size()) return false;
    for (size_t c = 0; c < now.resolved.size(); ++c)
      if ((now.resolved[c].pipeline == record::kNone) != (old.resolved[c].pipeline == record::kNone) ||
          now.resolved[c].is_noop != old.resolved[c].is_noop)
        return false;
  }
  return true;
}

// Inputs are the first commands of the first phase; host_bytes has them one after another.
void LivePlanner::write_inputs(record::Step& step) {
  uint64_t offset = 0;
  size_t at = 0;
  for (size_t i = 0; i < method_.graph.inputs.size(); ++i) {
    const ValueId value = method_.graph.inputs[i];
    const graph::TensorValue* tensor = method_.graph.tensor(value);
    if (!tensor) continue;
    if (step.commands.size() == at) step.commands.emplace_back();
    record::Command& write = step.commands[at];
    write = {};
    write.kind = record::CommandKind::write;
    write.to = value_buffer_[value];
    write.from_offset = offset;
    if (!input_on_device_[i])
      write.size = round_up(live_.shapes[value].numel() * std::min<uint64_t>(size_of(tensor->dtype), 4), 4);
    note_uses(step, at++, {record::Use{value, write.size}});
    offset += round_up(write.size, 16);
  }
  step.host_bytes.resize(offset);
}

void LivePlanner::write_live_integers(record::Step& step) {
  for (size_t i = 0; i < live_symints_.size(); ++i) {
    const auto value = static_cast<int32_t>(live_.symints[live_symints_[i]]);
    const uint64_t at = (i + 1) * sizeof value;
    if (std::memcmp(step.params.data() + at, &value, sizeof value) == 0) continue;
    std::memcpy(step.params.data() + at, &value, sizeof value);
    step.dirty_params.include(at, at + sizeof value);
  }
}

void LivePlanner::note_uses(record::Step& step, size_t command, const record::Uses& uses) {
  if (!records_uses_) return;
  if (step.uses.size() <= command) step.uses.resize(command + 1);
  step.uses[command] = uses;
}

void LivePlanner::patch(record::Step& step) {
  for (size_t i = first_pending_; i < plan_change_count_; ++i) {
    const NodeId node = plan_changes_[i].node;
    const NodeState& state = nodes_[node];
    uint32_t at = state.first_command, slot = state.first_slot;
    for (size_t c = 0; c < state.resolved.size(); ++c) {
      if (state.resolved[c].is_noop) continue;
      const ops::PlannedCommand& planned = state.plan.commands()[c];
      const uint64_t begin = uint64_t{slot} * record::kParamsBytes;
      step.commands[at] = make_command(planned, state.resolved[c], node, slot, step.params.data() + begin);
      if (records_uses_) note_uses(step, at, make_uses(planned, method_.layout.root));
      ++at;
      if (planned.kernel == nullptr) continue;
      step.dirty_params.include(begin, begin + record::kParamsBytes);
      ++slot;
    }
  }
}

// Writes the commands of nodes [phase_start_, at_) as the next phase.
void LivePlanner::append(record::Step& step) {
  if (phase_start_ == 0) {
    step.commands.clear();
    step.uses.clear();
    step.phases.clear();
    slots_ = record::kLiveSlots;
    step.params.resize(std::max<size_t>(step.params.size(), record::kLiveBytes));
    write_inputs(step);
  }
  const uint32_t first = phase_start_ == 0 ? 0 : static_cast<uint32_t>(step.commands.size());
  const uint32_t first_slot = slots_;
  for (NodeId node = phase_start_; node < at_; ++node) {
    NodeState& state = nodes_[node];
    state.first_command = static_cast<uint32_t>(step.commands.size());
    state.first_slot = slots_;
    for (size_t c = 0; c < state.resolved.size(); ++c) {
      if (state.resolved[c].is_noop) continue;
      const uint32_t slot = slots_;
      if (state.plan.commands()[c].kernel != nullptr) ++slots_;
      if (step.params.size() < uint64_t{slots_} * record::kParamsBytes)
        step.params.resize(uint64_t{slots_} * record::kParamsBytes);
      step.commands.push_back(make_command(state.plan.commands()[c], state.resolved[c], node, slot,
                                           step.params.data() + uint64_t{slot} * record::kParamsBytes));
      if (records_uses_)
        note_uses(step, step.commands.size() - 1, make_uses(state.plan.commands()[c], method_.layout.root));
    }
    state.commands = static_cast<uint32_t>(step.commands.size()) - state.first_command;
  }
  step.phases.push_back({first, static_cast<uint32_t>(step.commands.size()) - first, {}});
  if (slots_ > first_slot)
    step.dirty_params.include(phase_start_ == 0 ? 0 : uint64_t{first_slot} * record::kParamsBytes,
                              uint64_t{slots_} * record::kParamsBytes);
}

void LivePlanner::finish_run() {
  in_run_ = false;
  shape_changes_.clear();
  // A phase that ran before scratch grew still names the smaller buffer.
  all_dirty_ = scratch_grew_in_run_ && step_phases_ > 1;
  scratch_grew_in_run_ = false;
  // Nodes that wait for the host split the Step differently from run to run.
  must_rewrite_ = !waiting_.empty();
}

record::Step LivePlanner::warm_up() {
  // Routes change at small counts and at powers of two; pipelines that all of these shapes miss are made when needed.
  std::vector<int64_t> extents = {INT64_MAX, 1, 2, 3, 4, 5, 6, 7, 8};
  for (int64_t power = 16; power <= 4096; power *= 2) extents.insert(extents.end(), {power, power + 1});
  for (int64_t extent : extents) {
    probe(extent, std::nullopt);
    for (size_t dim = 0; dim < Shape::kMaxRank; ++dim) probe(extent, dim);
  }
  probe(INT64_MAX, std::nullopt, 1);  // SymInts may choose kernels too
  probe(INT64_MAX, std::nullopt);     // with the scratch that the largest probe needed
  record::Step step;
  step.params.resize(record::kLiveBytes);  // zeros, which slot 0 serves as well
  step.dirty_params = {0, record::kLiveBytes};
  std::vector<uint8_t> seen(tables_.pipelines.size());
  for (uint32_t g = 0; g < tables_.bind_groups.size(); ++g) {
    const record::BindGroup& group = tables_.bind_groups[g];
    const bool usable = std::none_of(group.buffers, group.buffers + group.count, [&](uint32_t buffer) {
      return tables_.buffers[buffer].use == record::BufferUse::retired;
    });
    if (!usable || std::exchange(seen[group.pipeline], 1)) continue;
    record::Command command;
    command.pipeline = group.pipeline;
    command.bind_group = g;
    std::ranges::fill(command.grid, 1u);
    step.commands.push_back(command);
    step.uses.emplace_back();
  }
  step.phases = {{0, static_cast<uint32_t>(step.commands.size()), {}}};
  reserve_params(tables_, record::kLiveBytes);
  return step;
}

// Plans the inputs with every dim (or only one) cut to `extent`, and takes it back. Shapes that the model does not
// allow fail quickly and leave nothing behind.
void LivePlanner::probe(int64_t extent, std::optional<size_t> only_dim, int64_t symint) {
  std::vector<Input> inputs;
  bool cut = extent == INT64_MAX && !only_dim;
  for (ValueId value : method_.graph.inputs) {
    Input input;
    input.symint = symint;
    if (const graph::TensorValue* tensor = method_.graph.tensor(value)) {
      input.shape = tensor->bound;
      for (size_t d = 0; d < input.shape.rank(); ++d) {
        if ((only_dim && *only_dim != d) || input.shape[d] <= extent) continue;
        input.shape[d] = extent;
        cut = true;
      }
      if (tensor->dtype == Dtype::i64 || tensor->dtype == Dtype::i32) input.integers.assign(input.shape.numel(), 0);
    }
    inputs.push_back(std::move(input));
  }
  if (!cut) return;
  if (begin(inputs)) (void)plan();
  roll_back();
}

}  // namespace sconce::planner
