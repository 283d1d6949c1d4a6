// Plans a session's runs: one pass over the nodes in order, each at most once a run, and only those whose input shapes
// or SymInts changed since the last run.
//
//   begin(inputs) -> plan() [-> provide(...) -> plan()]... -> commit(step)
//
// Until commit nothing of the previous run is lost: roll_back() brings shapes, SymInts, plans and scratch back to where
// they were at begin(). A node whose plan holds for a SymInt's new value (NodePlan::holds_while) is not planned: its
// kernels read the value from the table of live integers. Cost: a decode step of 30 layers whose position advances
// replans about 5 of 734 nodes.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ops/contract.h"
#include "planner/method.h"
#include "planner/step_writer.h"

namespace sconce::planner {

// One input of a run: a tensor's live shape, or a SymInt's value.
struct Input {
  Shape shape;
  int64_t symint = 0;
  std::vector<int64_t> integers;  // contents, if it is an integer tensor: SymInts may come from them
  bool on_device = false;         // a state that an earlier run wrote: nothing comes from the host
};

class LivePlanner final : public ops::ConstantProvider {
 public:
  // Adds the session's buffers to `tables`. `shared_buffers` are the model's buffer ids of the constant table's parts.
  LivePlanner(const Method& method, std::span<const PackedPart> constants, record::Tables& tables);

  // Whether a shape is within its bounds, or a SymInt within 32 bits.
  Result<void> check_input(size_t index, const Input& input) const;
  Result<void> begin(std::span<const Input> inputs);
  // Plans up to the end (nothing) or up to a node that needs the contents of a tensor: run the phase that commit()
  // gives, read the tensor back and provide() it.
  Result<std::optional<ValueId>> plan();
  void provide(ValueId tensor, std::vector<int64_t> contents);
  // Writes what was planned since begin() or the last commit() into `step`, as its next phase.
  void commit(record::Step& step);
  void roll_back();
  // The next commit writes the whole Step and all parameters: what was committed last may not have reached the GPU.
  void rewrite_step() { must_rewrite_ = true; }

  // From now on commit() writes Step::uses too, for the check executor. Costs memory traffic that a run does not need.
  void record_uses() { records_uses_ = true; }

  // One dispatch of every pipeline that runs at a few shapes between 1 and the bounds use, with all counts zero:
  // pipelines exist and software drivers have compiled them before the first run. Changes no live shape.
  record::Step warm_up();

  const Shape& shape(ValueId value) const { return live_.shapes[value]; }
  int64_t symint(ValueId value) const { return live_.symints[value]; }
  uint32_t buffer(ValueId value) const { return value_buffer_[value]; }
  uint32_t packed_buffer(uint32_t part) const { return packed_buffer_[part]; }
  std::span<const ValueId> states() const { return states_; }  // tensors that are kept between runs
  size_t planned_nodes() const { return plan_change_count_; }  // by the run in progress
  const Method& method() const { return method_; }

 private:
  struct NodeState {
    ops::NodePlan plan;
    std::vector<Resolved> resolved;            // of the plan's commands
    uint32_t scratch_generation = 0;           // when they were resolved
    uint32_t first_command = 0, commands = 0;  // in the Step
    uint32_t first_slot = 0;
  };
  struct ShapeChange {
    ValueId value;
    Shape shape;
    int64_t symint;
    uint8_t known;
  };
  struct PlanChange {
    NodeId node;
    NodeState state;
  };
  struct Scratch {
    uint32_t buffer = record::kNone;
    uint64_t bytes = 0;
  };

  // ops::ConstantProvider
  Result<std::span<const ops::ConstantPart>> parts(ValueId constant, ops::Packing packing) override;
  std::optional<std::vector<int64_t>> host_integers(ValueId tensor) override;
  uint32_t live_entry(ValueId symint) override;

  void add_buffers(std::span<const PackedPart> constants);
  Result<std::optional<ValueId>> plan_node(NodeId node);  // the value that it waits for, if any
  Result<void> replan_users_of_scratch();
  Result<void> resolve(const NodeState& before, NodeState& after);
  Result<uint32_t> buffer_of(const ops::Operand& operand);
  Result<uint32_t> bindable_buffer_of(const ops::Operand& operand);
  void reserve_scratch(std::span<const uint64_t> bytes);
  void set_shape(ValueId value, const Shape& shape);
  void set_symint(ValueId value, int64_t number);
  void mark_consumers(ValueId value);
  void mark_unless_held(ValueId symint, int64_t number);
  void mark(NodeId node) { dirty_[node / 64] |= uint64_t{1} << (node % 64); }
  NodeId next_dirty(NodeId from) const;
  void write_inputs(record::Step& step);
  void write_live_integers(record::Step& step);
  void note_uses(record::Step& step, size_t command, const record::Uses& uses);
  bool can_patch() const;
  void patch(record::Step& step);
  void append(record::Step& step);
  void finish_run();
  void probe(int64_t extent, std::optional<size_t> only_dim, int64_t symint = 0);

  const Method& method_;
  record::Tables& tables_;
  Interner interner_;
  std::vector<uint32_t> value_buffer_;   // of each value
  std::vector<uint32_t> packed_buffer_;  // of each part of the constant table
  std::vector<ValueId> states_;

  // The last committed run, and on top of it what the run in progress has changed so far.
  ops::LiveValues live_;
  std::vector<NodeState> nodes_;
  std::vector<ops::Hold> holds_;  // of each node's plan, close together: a decode step reads all of them and no plan
  std::vector<Scratch> scratch_;
  std::vector<std::vector<int64_t>> input_integers_;  // of each graph input
  std::vector<uint8_t> input_on_device_;              // of each graph input, in the run in progress
  std::vector<ValueId> live_symints_;                 // of each entry of the table of live integers after 0

  // What the run in progress took the place of, for roll_back.
  std::vector<ShapeChange> shape_changes_;
  std::vector<PlanChange> plan_changes_;  // the first plan_change_count_ count; the others keep their memory for reuse
  size_t plan_change_count_ = 0;
  std::vector<std::vector<int64_t>> old_integers_;

  std::vector<uint64_t> dirty_;  // a bit a node that must be planned
  NodeId at_ = 0;                // the next node to plan
  NodeId phase_start_ = 0;
  size_t first_pending_ = 0;  // plan_changes_ from here on are not in the Step yet
  bool in_run_ = false;       // between begin() and the last commit()
  bool records_uses_ = false;
  bool all_dirty_ = true;      // no run was committed yet
  bool must_rewrite_ = true;   // the Step does not have the commands of nodes_ at their places
  bool scratch_grew_ = false;  // and those who use it are not all planned anew yet
  bool scratch_grew_in_run_ = false;
  uint32_t scratch_generation_ = 0;  // counts scratch buffers that larger ones took the place of
  size_t step_phases_ = 0;
  NodeId planning_ = 0;
  uint32_t slots_ = 0;                                 // of the Step's params
  std::vector<std::vector<NodeId>> readers_of_input_;  // nodes that asked for an input's contents
  std::vector<NodeId> waiting_;                        // nodes that wait for the host: planned in every run
  std::vector<std::pair<ValueId, std::vector<int64_t>>> provided_;
};

}  // namespace sconce::planner
