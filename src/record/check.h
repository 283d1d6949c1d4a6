// The check executor: replays Steps without a GPU and verifies what a driver takes for granted. Planners are tested
// with it at any capability set, and every run of the operator tests passes through it before it reaches a GPU.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"
#include "record/record.h"

namespace sconce::record {

// What a Step is for decides what it may touch.
enum class StepKind {
  load,   // of a model: uploads and packs constants
  setup,  // of a session, between runs: first contents of states; one dispatch of each pipeline, with all counts zero
  run,
};

// Byte ranges of a buffer, merged where they touch.
class ByteSet {
 public:
  void add(uint64_t begin, uint64_t end);
  bool contains(uint64_t begin, uint64_t end) const;

 private:
  struct Range {
    uint64_t begin, end;
  };
  std::vector<Range> ranges_;  // sorted, with gaps between them
};

// Follows one model or one session: give it every Step in the order of submission. It remembers which bytes of which
// tensor each buffer holds, and what the parameter buffer of a GPU would hold.
//
// Verified: ids, ranges, alignments and sizes; kernels, grids and bindings against the device's limits; no buffer read
// and written in one dispatch; nothing written that must not change; nothing read but constants, states and what the
// run itself wrote, and no tensor read after another took its buffer; no parameters that changed outside of the dirty
// range; phases that follow one another.
class CheckExecutor {
 public:
  // `kernels` are what pipelines refer to (kernels::all()). `graph` names the nodes in messages, if it is not null.
  CheckExecutor(const Capabilities& capabilities, std::span<const KernelInfo> kernels,
                const graph::Graph* graph = nullptr)
      : capabilities_(capabilities), kernels_(kernels), graph_(graph) {}

  // Checks one phase as it stands before it is submitted. The error (internal: a defect of Sconce) says which command,
  // node, kernel and buffer, and the numbers.
  Result<void> check(const Tables& tables, const Step& step, StepKind kind, size_t phase = 0);

 private:
  // Activations hold whatever the last tensor that was written there left.
  struct Contents {
    uint32_t owner = kNone;  // a value; of scratch: a node
    ByteSet written;
  };
  struct Region {
    uint32_t buffer;
    uint64_t begin, end;
    uint32_t value, node;
  };

  // check.cpp: what holds for a Step as a whole
  Result<void> check_buffers() const;
  Result<void> check_pipeline(const Pipeline& pipeline) const;
  Result<void> check_phases(const Step& step, size_t phase) const;
  Result<void> update_params(const Step& step);
  Result<void> check_read_back(const ReadBack& read) const;

  // check_command.cpp: one command
  Result<void> check_command(const Step& step, size_t index);
  Result<void> check_dispatch(const Step& step, const Command& command, const Uses& uses);
  Result<void> check_grid(const Command& command) const;
  Result<void> check_params_slot(const Step& step, const Command& command, const KernelInfo& kernel) const;
  Result<void> check_bindings(const BindGroup& group, const KernelInfo& kernel, const Uses& uses) const;
  Result<void> check_transfer(const Step& step, const Command& command, const Uses& uses);
  bool may_hold_input(BufferUse use, uint32_t value) const;
  Result<void> read(const Region& region) const;
  Result<void> write(const Region& region);
  Result<void> check_range(uint32_t buffer, uint64_t offset, uint64_t size) const;
  std::string place(const Command& command, size_t index) const;
  std::string label(uint32_t buffer) const;  // "3 (activation, 1024 bytes)"
  std::string owner_label(uint32_t buffer, uint32_t owner) const;

  Capabilities capabilities_;
  std::span<const KernelInfo> kernels_;
  const graph::Graph* graph_;

  const Tables* tables_ = nullptr;  // these two: of the check in progress
  StepKind kind_ = StepKind::run;
  std::vector<Contents> contents_;  // of each buffer
  std::vector<std::byte> params_;   // as on the GPU
  uint32_t params_buffer_ = kNone;
};

}  // namespace sconce::record
