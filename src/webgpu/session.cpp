// sconce::Session: pumps runtime::Session through the replayer.
#include "base/error.h"
#include "webgpu/session_impl.h"

namespace sconce {
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
  // The model keeps its methods alive.
  SCONCE_TRY(auto impl, Impl::create(model.impl_, {model.impl_, prepared}, options));
  return Session(std::move(impl));
}

Result<std::shared_ptr<Session::Impl>> Session::Impl::create(std::shared_ptr<Model::Impl> model,
                                                             std::shared_ptr<const planner::Method> method,
                                                             const SessionOptions& options) {
  auto impl = std::make_shared<Impl>(model, std::move(method), options);
  if (model->warm_up) SCONCE_DO(impl->run_aside(impl->session.warm_up()));
  SCONCE_DO(impl->run_aside(impl->session.reset()));
  SCONCE_DO(model->gpu->check());
  return impl;
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
  for (const record::Buffer& buffer : impl_->session.tables().buffers) {
    if (buffer.use == record::BufferUse::state) statistics.state_bytes += buffer.size;
    if (buffer.use == record::BufferUse::activation) statistics.activation_bytes += buffer.size;
    if (buffer.use == record::BufferUse::scratch) statistics.scratch_bytes += buffer.size;
  }
  return statistics;
}

std::vector<KernelTime> Session::take_profile() {
  std::vector<KernelTime> times;
  const graph::Graph& graph = impl_->session.method().graph;
  for (const webgpu::DispatchTime& time : impl_->replayer.take_profile()) {
    const bool has_node = time.node < graph.nodes.size();
    times.push_back({has_node ? graph.nodes[time.node].name : "", has_node ? graph.nodes[time.node].op : "",
                     time.kernel, time.start_ns, time.nanoseconds, time.bytes});
  }
  return times;
}

std::vector<HostTime> Session::take_host_times() {
  auto nanoseconds = [](auto duration) {
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
  };
  std::vector<HostTime> times;
  for (const webgpu::HostSpan& span : impl_->replayer.take_host_spans())
    times.push_back({span.what, nanoseconds(span.start.time_since_epoch()), nanoseconds(span.end - span.start)});
  return times;
}

Result<void> Session::check_guards() {
  return impl_->replayer.check_guards();
}

}  // namespace sconce
