// A session as a state machine without I/O. A run goes
//
//   start(inputs)                          plan; on an error nothing has changed
//   [driver: prepare(tables())]            make what is new; on an error: abandon()
//   commit(inputs) -> Step, phase index    from here the Step is what will run
//   [driver: submit, read back]            on an error: fail(error)
//   finish_phase(bytes) -> outputs, or nothing: prepare, commit and submit once more
//
// After fail() every call returns that error until reset() or until the model is loaded again.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "planner/live_planner.h"
#include "runtime/model.h"
#include "sconce/tensor.h"

namespace sconce::runtime {

class Session {
 public:
  Session(const Model& model, const planner::Method& method);

  record::Tables& tables() { return tables_; }
  const planner::Method& method() const { return planner_.method(); }
  const planner::LivePlanner& planner() const { return planner_; }

  // Steps also say what each command uses, as the check executor wants it.
  void record_uses() { planner_.record_uses(); }

  // Steps outside of runs: state buffers to their first contents; one small dispatch of every pipeline.
  record::Step reset();
  record::Step warm_up() { return planner_.warm_up(); }

  // An input without bytes keeps what an earlier run left in it: only where the input is a state.
  Result<void> start(std::span<const TensorView> inputs);
  // Whether the driver brings output i back after a run; all of them unless told otherwise.
  void read_output(size_t i, bool wanted) { wanted_[i] = wanted; }
  // Between start and finish_phase: the phase is the run's last. Then the next run may start before this one is
  // finished, for a driver that takes the read-backs itself.
  bool in_last_phase() const { return !waits_for_; }
  void abandon();
  record::Step& commit();
  size_t phase() const { return phase_; }  // that the driver submits after commit()
  void fail(Error error);
  // Between submit and finish_phase: the outputs are not wanted. What the GPU was given still runs.
  void cancel();
  // `bytes` are the read-backs of the phase, in order.
  Result<std::optional<std::vector<Tensor>>> finish_phase(std::span<const std::span<const std::byte>> bytes);

  size_t dispatches() const;  // of the last run
  const std::optional<Error>& broken() const { return broken_; }

 private:
  Result<void> read_inputs(std::span<const TensorView> inputs);
  Result<void> continue_plan();
  std::string describe_inputs() const;
  void add_output_read_backs(record::Phase& phase);
  std::vector<Tensor> take_outputs(std::span<const std::span<const std::byte>> bytes);

  const Model& model_;
  record::Tables tables_;
  planner::LivePlanner planner_;
  record::Step step_;
  size_t phase_ = 0;
  std::vector<planner::Input> inputs_;
  std::vector<uint8_t> wanted_;              // of each output
  std::vector<std::byte> host_bytes_;        // the inputs as the device holds them
  std::optional<graph::ValueId> waits_for_;  // the tensor that the next phase needs
  std::optional<Error> broken_;
};

}  // namespace sconce::runtime
