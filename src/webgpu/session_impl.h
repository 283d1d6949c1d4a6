// What a Session owns: the state machine, its GPU objects, and the run that is under way.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "kernels.h"
#include "record/check.h"
#include "runtime/session.h"
#include "webgpu/model_impl.h"

namespace sconce {

namespace webgpu {

inline double microseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace webgpu

struct Session::Impl {
  // Over a method of the model, or one made of it.
  static Result<std::shared_ptr<Impl>> create(std::shared_ptr<Model::Impl> model,
                                              std::shared_ptr<const planner::Method> method,
                                              const SessionOptions& options);

  Impl(const std::shared_ptr<Model::Impl>& from, std::shared_ptr<const planner::Method> its_method,
       const SessionOptions& options)
      : model(from),
        method(std::move(its_method)),
        session(*from->model, *method),
        replayer(from->gpu, {options.poison, options.profile}, &from->replayer) {
    if (options.profile) session.record_uses();
    if (!options.poison) return;
    checker.emplace(from->gpu->capabilities(), kernels::all(), &method->graph);
    session.record_uses();
  }

  // Runs a Step that is not part of a run: reset, warm-up.
  Result<void> run_aside(record::Step step) {
    SCONCE_DO(replayer.prepare(session.tables()));
    SCONCE_DO(check(step, record::StepKind::setup, 0));
    SCONCE_TRY(auto nothing, replayer.submit(step, 0));
    (void)nothing;
    return {};
  }

  Result<void> start(std::span<const TensorView> inputs) {
    SCONCE_CHECK(!in_flight, "A run of this session is pending; wait for it or cancel it before starting another.");
    SCONCE_DO(model->gpu->check());
    replan_us = 0;
    const auto begin = std::chrono::steady_clock::now();
    SCONCE_DO(session.start(inputs));
    replan_us += webgpu::microseconds_since(begin);
    replayer.note("plan", begin);
    return submit_phase();
  }

  // Starts a run without ending the ones before it: for a caller that keeps the read-backs of several runs itself.
  // Where the host must read in the midst of the run, it waits up to there.
  Result<webgpu::PendingRead> start_ahead(std::span<const TensorView> inputs) {
    SCONCE_DO(start(inputs));
    while (!session.in_last_phase()) {
      if (auto arrived = reads.wait(); !arrived) return broken(std::move(arrived).error());
      SCONCE_DO(finish_phase());
    }
    in_flight = false;
    return std::move(reads);
  }

  Result<void> submit_phase() {
    if (auto prepared = replayer.prepare(session.tables()); !prepared) {
      session.abandon();
      return prepared;
    }
    const auto begin = std::chrono::steady_clock::now();
    record::Step& step = session.commit();
    replan_us += webgpu::microseconds_since(begin);
    // The commit may have grown the parameter buffer.
    auto prepared = replayer.prepare(session.tables());
    if (prepared) prepared = check(step, record::StepKind::run, session.phase());
    auto submitted = prepared ? replayer.submit(step, session.phase()) : std::unexpected(prepared.error());
    if (!submitted) {
      session.fail(submitted.error());
      return std::unexpected(std::move(submitted).error());
    }
    reads = *std::move(submitted);
    in_flight = true;
    return {};
  }

  // After the phase's bytes have arrived: outputs, or nothing when another phase has been submitted.
  Result<std::optional<std::vector<Tensor>>> finish_phase() {
    in_flight = false;
    if (auto healthy = model->gpu->check(); !healthy) return broken(std::move(healthy).error());
    std::vector<std::span<const std::byte>> bytes;
    for (size_t i = 0; i < reads.count(); ++i) bytes.push_back(reads.bytes(i));
    SCONCE_TRY(auto outputs, session.finish_phase(bytes));
    if (!outputs) SCONCE_DO(submit_phase());
    return outputs;
  }

  Result<void> check(const record::Step& step, record::StepKind kind, size_t phase) {
    if (!checker) return {};
    return checker->check(session.tables(), step, kind, phase);
  }

  std::unexpected<Error> broken(Error error) {
    in_flight = false;
    session.fail(error);
    return std::unexpected(std::move(error));
  }

  void cancel() {
    if (!in_flight) return;
    in_flight = false;
    reads = {};
    session.cancel();
  }

  std::shared_ptr<Model::Impl> model;
  std::shared_ptr<const planner::Method> method;
  runtime::Session session;
  webgpu::Replayer replayer;
  std::optional<record::CheckExecutor> checker;  // with SessionOptions::poison
  webgpu::PendingRead reads;
  bool in_flight = false;
  double replan_us = 0;
};

}  // namespace sconce
