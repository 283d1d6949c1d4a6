#include "planner/live_planner.h"

#include <algorithm>
#include <bit>

#include "base/math.h"

namespace sconce::planner {

using graph::kNone;

LivePlanner::LivePlanner(const Method& method, std::span<const PackedPart> constants, record::Tables& tables)
    : method_(method), tables_(tables), interner_(tables) {
  const size_t values = method.graph.values.size();
  live_.shapes.resize(values);
  live_.symints.resize(values);
  live_.known.resize(values);
  for (ValueId v = 0; v < values; ++v)
    if (const graph::TensorValue* tensor = method.graph.tensor(v)) live_.shapes[v] = tensor->bound;
  nodes_.resize(method.graph.nodes.size());
  holds_.resize(nodes_.size());
  dirty_.resize(div_ceil(nodes_.size(), 64) + 1);
  input_integers_.resize(method.graph.inputs.size());
  input_on_device_.resize(method.graph.inputs.size());
  readers_of_input_.resize(method.graph.inputs.size());
  add_buffers(constants);
}

void LivePlanner::add_buffers(std::span<const PackedPart> constants) {
  for (const PackedPart& part : constants) {
    packed_buffer_.push_back(add_buffer(tables_, part.bytes, record::BufferUse::shared));
    tables_.buffers.back().shared = part.buffer;
  }
  std::vector<uint32_t> slots;
  for (uint64_t bytes : method_.layout.slot_bytes)
    slots.push_back(add_buffer(tables_, bytes, record::BufferUse::activation));

  value_buffer_.assign(method_.graph.values.size(), record::kNone);
  for (ValueId v = 0; v < value_buffer_.size(); ++v) {
    const graph::TensorValue* tensor = method_.graph.tensor(v);
    if (!tensor) continue;
    const ValueId root = method_.layout.root[v];
    if (method_.layout.slot[v] != kNone) {
      value_buffer_[v] = slots[method_.layout.slot[v]];
    } else if (root != v) {
      value_buffer_[v] = value_buffer_[root];
    } else if (tensor->is_state) {
      value_buffer_[v] = add_buffer(tables_, device_bytes(*tensor), record::BufferUse::state);
      states_.push_back(v);
    } else if (auto raw = method_.parts.find(Method::part_key(v, ops::Packing::raw)); raw != method_.parts.end()) {
      value_buffer_[v] = packed_buffer_[raw->second.front().data.id];
    }
  }
}

Result<void> LivePlanner::check_input(size_t index, const Input& input) const {
  const graph::TensorValue* tensor = method_.graph.tensor(method_.graph.inputs[index]);
  if (!tensor) {
    SCONCE_CHECK(input.symint >= INT32_MIN && input.symint <= INT32_MAX,
                 "Input {} is {}, which does not fit the 32 bits of a SymInt.", index, input.symint);
    return {};
  }
  SCONCE_CHECK(input.shape.rank() == tensor->bound.rank(),
               "Input {} has shape {}, but the model takes {} dims there (upper bound {}).", index, input.shape,
               tensor->bound.rank(), tensor->bound);
  for (size_t d = 0; d < input.shape.rank(); ++d)
    SCONCE_CHECK(input.shape[d] >= 0 && input.shape[d] <= tensor->bound[d],
                 "Input {} has {} in dim {}, but its upper bound there is {} (shape {}, bound {}).", index,
                 input.shape[d], d, tensor->bound[d], input.shape, tensor->bound);
  return {};
}

Result<void> LivePlanner::begin(std::span<const Input> inputs) {
  SCONCE_CHECK(inputs.size() == method_.graph.inputs.size(), "Method {} takes {} inputs, but {} were given.",
               method_.graph.method, method_.graph.inputs.size(), inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) SCONCE_DO(check_input(i, inputs[i]));

  in_run_ = true;
  at_ = phase_start_ = 0;
  shape_changes_.clear();
  plan_change_count_ = first_pending_ = 0;
  provided_.clear();
  old_integers_ = input_integers_;
  std::ranges::fill(dirty_, 0);
  if (all_dirty_)
    for (NodeId n = 0; n < nodes_.size(); ++n) mark(n);
  for (NodeId n : waiting_) mark(n);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueId value = method_.graph.inputs[i];
    input_on_device_[i] = inputs[i].on_device;
    if (method_.graph.tensor(value)) {
      set_shape(value, inputs[i].shape);
    } else {
      set_symint(value, inputs[i].symint);
    }
    if (input_integers_[i] != inputs[i].integers) {
      input_integers_[i] = inputs[i].integers;
      for (NodeId reader : readers_of_input_[i]) mark(reader);
    }
  }
  return {};
}

Result<std::optional<ValueId>> LivePlanner::plan() {
  for (at_ = next_dirty(at_); at_ < nodes_.size(); at_ = next_dirty(at_ + 1)) {
    auto waits = plan_node(at_);
    if (!waits) return std::unexpected(std::move(waits).error().within(node_label(method_.graph, at_)));
    if (*waits) return *waits;
    dirty_[at_ / 64] &= ~(uint64_t{1} << (at_ % 64));
  }
  SCONCE_DO(replan_users_of_scratch());
  return std::nullopt;
}

void LivePlanner::provide(ValueId tensor, std::vector<int64_t> contents) {
  provided_.emplace_back(tensor, std::move(contents));
}

Result<std::optional<ValueId>> LivePlanner::plan_node(NodeId node) {
  if (plan_change_count_ == plan_changes_.size()) plan_changes_.emplace_back();
  PlanChange& change = plan_changes_[plan_change_count_];
  NodeState& fresh = change.state;
  planning_ = node;
  fresh.plan.begin(&method_.graph, &method_.graph.nodes[node], method_.capabilities);
  const ops::Call call(method_.graph, method_.graph.nodes[node], live_, method_.capabilities, *this);
  SCONCE_DO(method_.operators[node]->plan(call, fresh.plan));
  if (fresh.plan.host_wait()) {
    if (std::ranges::find(waiting_, node) == waiting_.end()) waiting_.push_back(node);
    return fresh.plan.host_wait();
  }

  std::span<const uint32_t> outputs = method_.layout.outputs[node];
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == kNone) continue;
    if (method_.graph.tensor(outputs[i])) set_shape(outputs[i], fresh.plan.output_shapes()[i]);
  }
  if (fresh.plan.symint_value() && !outputs.empty()) set_symint(outputs[0], *fresh.plan.symint_value());

  reserve_scratch(fresh.plan.scratch_bytes());
  NodeState& current = nodes_[node];
  SCONCE_DO(resolve(current, fresh));
  fresh.first_command = current.first_command;
  fresh.commands = current.commands;
  fresh.first_slot = current.first_slot;
  std::swap(current, fresh);
  holds_[node] = current.plan.hold();
  change.node = node;
  ++plan_change_count_;
  return std::nullopt;
}

// Kernels and operands rarely change from run to run; then their ids do not either.
Result<void> LivePlanner::resolve(const NodeState& before, NodeState& after) {
  after.resolved.clear();
  after.scratch_generation = scratch_generation_;
  const bool same_scratch = after.plan.scratch_bytes().empty() || before.scratch_generation == scratch_generation_;
  const auto commands = after.plan.commands(), old = before.plan.commands();
  for (size_t i = 0; i < commands.size(); ++i) {
    const ops::PlannedCommand& now = commands[i];
    bool same =
        same_scratch && i < before.resolved.size() && now.kernel == old[i].kernel && now.variant == old[i].variant;
    for (size_t k = 0; same && k < record::kMaxBindings; ++k)
      same = now.operands[k].kind == old[i].operands[k].kind && now.operands[k].id == old[i].operands[k].id;
    if (same) {
      after.resolved.push_back(before.resolved[i]);
      continue;
    }
    SCONCE_TRY(Resolved resolved, interner_.resolve(now, [&](const ops::Operand& o) {
      return now.kernel != nullptr ? bindable_buffer_of(o) : buffer_of(o);
    }));
    after.resolved.push_back(resolved);
  }
  return {};
}

Result<uint32_t> LivePlanner::buffer_of(const ops::Operand& operand) {
  switch (operand.kind) {
    case ops::Operand::Kind::value:
      if (value_buffer_[operand.id] != record::kNone) return value_buffer_[operand.id];
      return fail(ErrorCode::internal, "Value {} is bound as it is, but only a packed form of it was loaded.",
                  operand.id);
    case ops::Operand::Kind::packed:
      return packed_buffer_[operand.id];
    case ops::Operand::Kind::scratch:
      return scratch_[operand.id].buffer;
    case ops::Operand::Kind::absent:
      break;
  }
  return fail(ErrorCode::internal, "An absent operand has no buffer.");
}

// Buffers are bound as a whole, so that bind groups never change: the bound decides, not the live shape.
Result<uint32_t> LivePlanner::bindable_buffer_of(const ops::Operand& operand) {
  SCONCE_TRY(uint32_t buffer, buffer_of(operand));
  const uint64_t size = tables_.buffers[buffer].size, most = method_.capabilities.max_storage_binding_bytes;
  if (size > most)
    return fail(ErrorCode::unsupported,
                "An operand has {} bytes at its upper bound, but this device binds at most {} at once.", size, most);
  return buffer;
}

// Scratch block i of all nodes is one buffer, since nodes run one after another. It grows in powers of two, up to what
// a device binds.
void LivePlanner::reserve_scratch(std::span<const uint64_t> bytes) {
  if (scratch_.size() < bytes.size()) scratch_.resize(bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (scratch_[i].buffer != record::kNone && scratch_[i].bytes >= bytes[i]) continue;
    if (scratch_[i].buffer != record::kNone) {
      tables_.buffers[scratch_[i].buffer].use = record::BufferUse::retired;
      scratch_grew_ = scratch_grew_in_run_ = true;
      ++scratch_generation_;
    }
    const uint64_t most = method_.capabilities.max_storage_binding_bytes / 16 * 16;
    scratch_[i].bytes = std::max(bytes[i], std::min(std::bit_ceil(std::max<uint64_t>(bytes[i], 256)), most));
    scratch_[i].buffer = add_buffer(tables_, scratch_[i].bytes, record::BufferUse::scratch);
  }
}

// A larger scratch buffer has a new id, which all nodes that use scratch must bind.
Result<void> LivePlanner::replan_users_of_scratch() {
  if (!scratch_grew_) return {};
  for (NodeId n = phase_start_; n < nodes_.size(); ++n) {
    if (nodes_[n].plan.scratch_bytes().empty()) continue;
    SCONCE_DO(plan_node(n));
  }
  scratch_grew_ = false;
  return {};
}

void LivePlanner::set_shape(ValueId value, const Shape& shape) {
  if (live_.shapes[value] == shape) return;
  shape_changes_.push_back({value, live_.shapes[value], live_.symints[value], live_.known[value]});
  live_.shapes[value] = shape;
  mark_consumers(value);
}

void LivePlanner::set_symint(ValueId value, int64_t number) {
  if (live_.known[value] && live_.symints[value] == number) return;
  shape_changes_.push_back({value, live_.shapes[value], live_.symints[value], live_.known[value]});
  live_.symints[value] = number;
  live_.known[value] = 1;
  mark_unless_held(value, number);
}

void LivePlanner::mark_consumers(ValueId value) {
  for (NodeId node : method_.layout.consumers[value]) mark(node);
}

void LivePlanner::mark_unless_held(ValueId symint, int64_t number) {
  for (NodeId node : method_.layout.consumers[symint]) {
    const ops::Hold& hold = holds_[node];
    if (hold.symint != symint || number < hold.low || number > hold.high) mark(node);
  }
}

NodeId LivePlanner::next_dirty(NodeId from) const {
  for (size_t word = from / 64; word < dirty_.size(); ++word) {
    uint64_t bits = dirty_[word];
    if (word == from / 64) bits &= ~uint64_t{0} << (from % 64);
    if (bits != 0) return static_cast<NodeId>(word * 64 + std::countr_zero(bits));
  }
  return static_cast<NodeId>(nodes_.size());
}

void LivePlanner::roll_back() {
  if (!std::exchange(in_run_, false)) return;  // begin() refused the inputs: the last run stays as it is
  while (plan_change_count_ > 0) {
    PlanChange& change = plan_changes_[--plan_change_count_];
    std::swap(nodes_[change.node], change.state);
    holds_[change.node] = nodes_[change.node].plan.hold();
  }
  while (!shape_changes_.empty()) {
    const ShapeChange& change = shape_changes_.back();
    live_.shapes[change.value] = change.shape;
    live_.symints[change.value] = change.symint;
    live_.known[change.value] = change.known;
    shape_changes_.pop_back();
  }
  input_integers_ = old_integers_;
  // Larger scratch stays, and whoever binds the smaller one is planned anew: nothing else would notice the difference.
  if (scratch_grew_in_run_) all_dirty_ = true;
  scratch_grew_ = scratch_grew_in_run_ = false;
  // A phase that was already committed is in the Step, but no longer in nodes_.
  if (phase_start_ > 0) must_rewrite_ = true;
}

Result<std::span<const ops::ConstantPart>> LivePlanner::parts(ValueId constant, ops::Packing packing) {
  auto found = method_.parts.find(Method::part_key(constant, packing));
  if (found == method_.parts.end())
    return fail(ErrorCode::internal, "Constant {} is wanted in a packing that was not asked for at load.", constant);
  return std::span<const ops::ConstantPart>(found->second);
}

uint32_t LivePlanner::live_entry(ValueId symint) {
  const auto found = std::ranges::find(live_symints_, symint);
  if (found == live_symints_.end()) {
    if (live_symints_.size() + 1 == record::kLiveEntries) return 0;
    live_symints_.push_back(symint);
    return static_cast<uint32_t>(live_symints_.size());
  }
  return static_cast<uint32_t>(found - live_symints_.begin()) + 1;
}

std::optional<std::vector<int64_t>> LivePlanner::host_integers(ValueId tensor) {
  for (const auto& [value, contents] : provided_)
    if (value == tensor) return contents;
  const ValueId root = method_.layout.root[tensor];
  for (size_t i = 0; i < input_integers_.size(); ++i) {
    if (method_.graph.inputs[i] != root || input_integers_[i].empty()) continue;
    if (std::ranges::find(readers_of_input_[i], planning_) == readers_of_input_[i].end())
      readers_of_input_[i].push_back(planning_);
    return input_integers_[i];
  }
  return std::nullopt;
}

}  // namespace sconce::planner
