// A graph with its planner and the check executor: what a session does in a run, without a GPU.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "base/math.h"
#include "kernels.h"
#include "planner/live_planner.h"
#include "record/check.h"

namespace sconce::test {

class PlannedGraph {
 public:
  explicit PlannedGraph(const graph::Graph& graph, const record::Capabilities& capabilities = {})
      : constants_(capabilities), checker_(capabilities, kernels::all(), &graph_), graph_(graph) {
    auto method = planner::prepare_method(graph, capabilities, constants_);
    if (!method) {
      load_error_ = method.error();
      return;
    }
    method_ = *std::move(method);
    record::Tables model;
    auto load = constants_.plan_load(model);
    if (!load) {
      load_error_ = load.error();
      return;
    }
    record::CheckExecutor loader(capabilities, kernels::all());
    check(loader.check(model, *load, record::StepKind::load));
    planner.emplace(method_, constants_.parts(), tables);
    planner->record_uses();
    reset();
  }
  PlannedGraph(const PlannedGraph&) = delete;

  const std::optional<Error>& load_error() const { return load_error_; }

  // Clears the states, as a session does at its start.
  void reset() {
    planner::StepWriter writer(tables);
    for (graph::ValueId state : planner->states()) {
      const uint32_t buffer = planner->buffer(state);
      writer.clear(buffer, tables.buffers[buffer].size);
    }
    check(checker_.check(tables, writer.finish(), record::StepKind::setup));
  }
  void warm_up() { check(checker_.check(tables, planner->warm_up(), record::StepKind::setup)); }

  // Plans, commits and checks a run; an error of planning is rolled back. `contents` are the integers that the GPU
  // would give where the host waits for it, one list a wait.
  Result<void> run(std::span<const planner::Input> inputs, std::vector<std::vector<int64_t>> contents = {}) {
    auto done = plan_all(inputs, contents);
    if (!done) planner->roll_back();
    return done;
  }
  Result<void> run(std::initializer_list<planner::Input> inputs, std::vector<std::vector<int64_t>> contents = {}) {
    return run(std::span(inputs.begin(), inputs.size()), std::move(contents));
  }

  record::Tables tables;
  record::Step step;
  std::optional<planner::LivePlanner> planner;

 private:
  Result<void> plan_all(std::span<const planner::Input> inputs, const std::vector<std::vector<int64_t>>& contents) {
    SCONCE_DO(planner->begin(inputs));
    for (size_t phase = 0;; ++phase) {
      SCONCE_TRY(auto waits, planner->plan());
      planner->commit(step);
      auto& reads = step.phases[phase].read_backs;
      reads.clear();
      if (waits) {
        reads.push_back(read_back(*waits));
      } else {
        for (graph::ValueId output : graph_.outputs)
          if (graph_.tensor(output)) reads.push_back(read_back(output));
      }
      check(checker_.check(tables, step, record::StepKind::run, phase));
      if (!waits) return {};
      planner->provide(*waits, contents.at(phase));
    }
  }
  record::ReadBack read_back(graph::ValueId value) const {
    const uint64_t bytes = planner->shape(value).numel() * std::min<uint64_t>(4, size_of(graph_.tensor(value)->dtype));
    return {planner->buffer(value), round_up(bytes, 4), method_.layout.root[value]};
  }
  static void check(const Result<void>& checked) {
    EXPECT_TRUE(checked) << (checked ? "" : checked.error().to_string());
  }

  planner::ConstantTable constants_;
  record::CheckExecutor checker_;
  graph::Graph graph_;
  planner::Method method_;
  std::optional<Error> load_error_;
};

// An input tensor of a live shape.
inline planner::Input live(Shape shape) {
  return {shape, 0, {}};
}

}  // namespace sconce::test
