// What one node does at the current live shapes, as data.
#pragma once

#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "base/math.h"
#include "graph/graph.h"
#include "ops/live_integer.h"
#include "ops/operand.h"
#include "record/capabilities.h"
#include "record/kernel.h"

namespace sconce::ops {

struct PlannedCommand {
  const record::KernelInfo* kernel = nullptr;  // null: a copy of operands[0] to operands[1]
  record::Variant variant = 0;
  uint32_t grid[3] = {0, 0, 0};
  std::array<Operand, record::kMaxBindings> operands;
  std::array<std::byte, record::kParamsBytes> params;  // kernel->params_bytes of them count
  uint64_t from_offset = 0, to_offset = 0, size = 0;   // of a copy, in bytes
};

class NodePlan {
 public:
  // Starts over for a node of the graph (null while constants are packed: then there are no outputs).
  void begin(const graph::Graph* graph, const graph::Node* node, const record::Capabilities& capabilities);

  size_t output_count() const { return outputs_.size(); }
  // Sets the live shape of output i and gives the operand to write it. An error when a dim passes the output's bound.
  Result<Operand> output(size_t i, const Shape& shape);
  // The output is the input's bytes under another shape: a copy, unless the planner made them share one buffer.
  Result<void> reinterpret(size_t i, const Shape& shape, const Operand& input);
  Result<void> symint(int64_t value);  // the node's output is a SymInt
  // Everything in this plan is the same for values of `integer` in [low, high], apart from what kernels look up. Said
  // of at most one integer; of a literal it means nothing.
  void holds_while(const LiveInteger& integer, int64_t low, int64_t high);
  // `bytes` of memory that no other node sees; contents are undefined.
  Operand scratch(uint64_t bytes);

  // Adds a dispatch of `workgroups` workgroups, folded into three dims within the device's limit (kernels unfold it
  // with grid.wgsl). Zero workgroups add nothing. `kernel` is a struct of generated/kernels.h.
  template <typename Kernel>
  Result<void> dispatch(const Kernel& kernel, uint64_t workgroups) {
    if (workgroups == 0) return {};
    PlannedCommand& command = add();
    command.kernel = &Kernel::info();
    command.variant = kernel.variant();
    kernel.fill_operands(command.operands.data());
    kernel.fill_params(command.params.data());
    return finish_dispatch(command, workgroups);
  }
  // Copies bytes between two buffers; offsets and size are multiples of 4.
  Result<void> copy(const Operand& from, uint64_t from_offset, const Operand& to, uint64_t to_offset, uint64_t size);

  // ---- results ----
  std::span<const PlannedCommand> commands() const { return {commands_.data(), command_count_}; }
  std::span<const Shape> output_shapes() const { return output_shapes_; }
  std::span<const uint64_t> scratch_bytes() const { return scratch_bytes_; }
  std::optional<int64_t> symint_value() const { return symint_; }
  std::optional<graph::ValueId> host_wait() const { return host_wait_; }
  const Hold& hold() const { return hold_; }

  // The node needs the contents of a tensor that the GPU makes in this run (Call::host_integers gave nothing): planning
  // stops here, and the node is planned again when the host has read it.
  Result<void> wait_for_host(graph::ValueId tensor);

 private:
  PlannedCommand& add();
  Result<void> finish_dispatch(PlannedCommand& command, uint64_t workgroups);

  const graph::Graph* graph_ = nullptr;
  const graph::Node* node_ = nullptr;
  const record::Capabilities* capabilities_ = nullptr;
  std::vector<graph::ValueId> outputs_;
  std::vector<Shape> output_shapes_;
  std::vector<PlannedCommand> commands_;  // grows only, so that a plan that is made anew allocates nothing
  size_t command_count_ = 0;
  std::vector<uint64_t> scratch_bytes_;
  std::optional<int64_t> symint_;
  std::optional<graph::ValueId> host_wait_;
  Hold hold_;
};

// A grid of at least `count` workgroups with no dim above `limit`: {count, 1, 1} when it fits, else near-square 2-D,
// then 3-D. An error above limit^3. Kernels get the index of a workgroup back with grid.wgsl and skip those past their
// count.
Result<std::array<uint32_t, 3>> fold_grid(uint64_t count, uint32_t limit);

}  // namespace sconce::ops
