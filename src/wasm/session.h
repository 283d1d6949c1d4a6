// The objects behind the handles that the host holds.
#pragma once

#include <memory>
#include <vector>

#include "program/program.h"
#include "runtime/session.h"
#include "wasm/memory.h"

namespace sconce::wasm {

struct LoadedModel {
  std::unique_ptr<runtime::Model> model;
  StepView step;  // the load Step
  program::NamedData named_data;
  std::vector<ConstantView> constants;  // of named_data
};

struct RunningSession {
  std::shared_ptr<const planner::Method> method;
  runtime::Session session;
  record::Step aside;  // a reset or a warm-up
  StepView step;
  std::vector<Tensor> outputs;  // of the last run
};

RunningSession* make_session(const LoadedModel& model, std::shared_ptr<const planner::Method> method);

// Points `view` at what a driver replays.
void view_step(const record::Tables& tables, const record::Step& step, size_t phase, StepView& view);

}  // namespace sconce::wasm
