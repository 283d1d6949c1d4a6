// sconce::Session: pumps runtime::Session through the replayer.
#include <chrono>

#include "base/error.h"
#include "kernels.h"
#include "record/check.h"
#include "runtime/session.h"
#include "webgpu/model_impl.h"

namespace sconce {
namespace {

class PendingRun;

double microseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

struct Session::Impl {
  Impl(const std::shared_ptr<Model::Impl>& from, const planner::Method& method, const SessionOptions& options)
      : model(from),
        session(*from->model, method),
        replayer(from->gpu, {options.poison, options.profile}, &from->replayer) {
    if (!options.poison) return;
    checker.emplace(from->gpu->capabilities(), kernels::all(), &method.graph);
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
    replan_us += microseconds_since(begin);
    return submit_phase();
  }

  Result<void> submit_phase() {
    if (auto prepared = replayer.prepare(session.tables()); !prepared) {
      session.abandon();
      return prepared;
    }
    const auto begin = std::chrono::steady_clock::now();
    record::Step& step = session.commit();
    replan_us += microseconds_since(begin);
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
  runtime::Session session;
  webgpu::Replayer replayer;
  std::optional<record::CheckExecutor> checker;  // with SessionOptions::poison
  webgpu::PendingRead reads;
  bool in_flight = false;
  double replan_us = 0;
};

namespace {

class PendingRun final : public Pending<std::vector<Tensor>>::Source {
 public:
  explicit PendingRun(std::shared_ptr<Session::Impl> session) : session_(std::move(session)) {}

  Result<bool> poll() override {
    while (!outputs_) {
      auto arrived = session_->reads.poll();
      if (!arrived) return session_->broken(std::move(arrived).error());
      if (!*arrived) return false;
      SCONCE_TRY(outputs_, session_->finish_phase());
    }
    return true;
  }

  Result<std::vector<Tensor>> wait() override {
    while (!outputs_) {
      if (auto arrived = session_->reads.wait(); !arrived) return session_->broken(std::move(arrived).error());
      SCONCE_TRY(outputs_, session_->finish_phase());
    }
    return *std::move(outputs_);
  }

  void cancel() override {
    if (!outputs_) session_->cancel();
  }

 private:
  std::shared_ptr<Session::Impl> session_;
  std::optional<std::vector<Tensor>> outputs_;
};

}  // namespace

Result<Session> Session::create(const Model& model, std::string_view method, const SessionOptions& options) {
  const planner::Method* prepared = model.impl().model->method(method);
  if (!prepared)
    return sconce::fail(ErrorCode::not_found, "The model has no method {}; `sconce inspect` lists those it has.",
                        method);
  auto impl = std::make_shared<Impl>(model.impl_, *prepared, options);
  if (impl->model->warm_up) SCONCE_DO(impl->run_aside(impl->session.warm_up()));
  SCONCE_DO(impl->run_aside(impl->session.reset()));
  SCONCE_DO(impl->model->gpu->check());
  return Session(std::move(impl));
}

Session::Session(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<std::vector<Tensor>> Session::run(std::span<const TensorView> inputs) {
  SCONCE_TRY(Pending<std::vector<Tensor>> pending, start(inputs));
  return pending.wait();
}

Result<Pending<std::vector<Tensor>>> Session::start(std::span<const TensorView> inputs) {
  SCONCE_DO(impl_->start(inputs));
  return Pending<std::vector<Tensor>>(std::make_unique<PendingRun>(impl_));
}

Result<void> Session::reset() {
  SCONCE_CHECK(!impl_->in_flight, "A run of this session is pending; wait for it or cancel it before resetting.");
  SCONCE_DO(impl_->run_aside(impl_->session.reset()));
  return impl_->model->gpu->check();
}

RunStatistics Session::statistics() const {
  RunStatistics statistics;
  statistics.replan_us = impl_->replan_us;
  statistics.planned_nodes = impl_->session.planner().planned_nodes();
  statistics.dispatches = impl_->session.dispatches();
  statistics.device_bytes = impl_->replayer.allocated_bytes();
  return statistics;
}

std::vector<KernelTime> Session::take_profile() {
  std::vector<KernelTime> times;
  const graph::Graph& graph = impl_->session.method().graph;
  for (const webgpu::DispatchTime& time : impl_->replayer.take_profile()) {
    const bool has_node = time.node < graph.nodes.size();
    times.push_back({has_node ? graph.nodes[time.node].name : "", has_node ? graph.nodes[time.node].op : "",
                     time.kernel, time.nanoseconds});
  }
  return times;
}

Result<void> Session::check_guards() {
  return impl_->replayer.check_guards();
}

}  // namespace sconce
