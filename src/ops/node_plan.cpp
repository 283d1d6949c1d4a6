#include "ops/node_plan.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "base/math.h"

namespace sconce::ops {

void NodePlan::begin(const graph::Graph* graph, const graph::Node* node, const record::Capabilities& capabilities) {
  graph_ = graph;
  node_ = node;
  capabilities_ = &capabilities;
  outputs_.clear();
  if (graph != nullptr && node != nullptr) outputs_ = graph::outputs_of(*graph, *node);
  output_shapes_.assign(outputs_.size(), Shape{});
  command_count_ = 0;
  scratch_bytes_.clear();
  symint_.reset();
  host_wait_.reset();
  hold_ = {};
}

Result<Operand> NodePlan::output(size_t i, const Shape& shape) {
  const graph::TensorValue* tensor = i < outputs_.size() ? graph_->tensor(outputs_[i]) : nullptr;
  if (tensor == nullptr) return fail(ErrorCode::corrupt_file, "{} has no tensor as output {}.", node_->op, i);
  bool fits = shape.rank() == tensor->bound.rank();
  for (size_t d = 0; fits && d < shape.rank(); ++d) fits = shape[d] <= tensor->bound[d];
  SCONCE_CHECK(fits, "Output {} of {} has shape {}, which its upper bound {} does not hold.", i, node_->op, shape,
               tensor->bound);
  output_shapes_[i] = shape;
  return Operand{Operand::Kind::value, outputs_[i], shape.numel() * std::min<size_t>(size_of(tensor->dtype), 4)};
}

Result<void> NodePlan::reinterpret(size_t i, const Shape& shape, const Operand& input) {
  SCONCE_TRY(Operand out, output(i, shape));
  SCONCE_CHECK(out.bytes == input.bytes, "{} turns {} bytes into shape {}, which takes {} bytes.", node_->op,
               input.bytes, shape, out.bytes);
  return copy(input, 0, out, 0, round_up(input.bytes, 4));
}

Result<void> NodePlan::symint(int64_t value) {
  if (value < INT32_MIN || value > INT32_MAX)
    return fail(ErrorCode::invalid_argument, "{} gives {}, which does not fit the 32 bits of a SymInt.", node_->op,
                value);
  symint_ = value;
  return {};
}

void NodePlan::holds_while(const LiveInteger& integer, int64_t low, int64_t high) {
  if (integer.symint == graph::kNone) return;
  hold_ = {integer.symint, static_cast<int32_t>(std::max<int64_t>(low, INT32_MIN)),
           static_cast<int32_t>(std::min<int64_t>(high, INT32_MAX))};
}

Operand NodePlan::scratch(uint64_t bytes) {
  scratch_bytes_.push_back(bytes);
  return {Operand::Kind::scratch, static_cast<uint32_t>(scratch_bytes_.size() - 1), bytes};
}

Result<void> NodePlan::copy(const Operand& from, uint64_t from_offset, const Operand& to, uint64_t to_offset,
                            uint64_t size) {
  if (size == 0) return {};
  assert(from_offset % 4 == 0 && to_offset % 4 == 0 && size % 4 == 0);
  PlannedCommand& command = add();
  command.operands[0] = from;
  command.operands[1] = to;
  command.from_offset = from_offset;
  command.to_offset = to_offset;
  command.size = size;
  return {};
}

Result<void> NodePlan::wait_for_host(graph::ValueId tensor) {
  host_wait_ = tensor;
  return {};
}

PlannedCommand& NodePlan::add() {
  if (command_count_ == commands_.size()) commands_.emplace_back();
  PlannedCommand& command = commands_[command_count_++];
  command.kernel = nullptr;
  command.operands = {};
  command.params = {};  // what lies between the members is compared and written, too
  command.from_offset = command.to_offset = command.size = 0;
  return command;
}

Result<void> NodePlan::finish_dispatch(PlannedCommand& command, uint64_t workgroups) {
  SCONCE_TRY(auto grid, fold_grid(workgroups, capabilities_->max_workgroups_per_dimension));
  for (size_t d = 0; d < 3; ++d) command.grid[d] = grid[d];
  for (size_t i = 0; i < command.kernel->bindings.size(); ++i) {
    const Operand& operand = command.operands[i];
    if (operand.bytes > capabilities_->max_storage_binding_bytes)
      return fail(ErrorCode::unsupported, "Kernel {} binds {} bytes as {}, but this device binds at most {} at once.",
                  command.kernel->name, operand.bytes, command.kernel->bindings[i].name,
                  capabilities_->max_storage_binding_bytes);
  }
  return {};
}

Result<std::array<uint32_t, 3>> fold_grid(uint64_t count, uint32_t limit) {
  const uint64_t most = limit;
  if (count <= most) return std::array<uint32_t, 3>{static_cast<uint32_t>(count), 1, 1};
  // The smallest z that leaves a 2-D grid within the limit, then a near-square one, so that few workgroups are idle.
  const uint64_t z = div_ceil(count, most * most);
  if (z > most)
    return fail(ErrorCode::unsupported, "A dispatch needs {} workgroups, more than {} in each of three dims.", count,
                limit);
  const uint64_t plane = div_ceil(count, z);
  uint64_t x = static_cast<uint64_t>(std::sqrt(static_cast<double>(plane)));
  while (x * x < plane) ++x;
  x = std::min(x, most);
  const uint64_t y = div_ceil(plane, x);
  return std::array<uint32_t, 3>{static_cast<uint32_t>(x), static_cast<uint32_t>(y), static_cast<uint32_t>(z)};
}

}  // namespace sconce::ops
