// A session without a GPU: every Step goes through the check executor instead, and what a GPU would compute is zeros.
#pragma once

#include <memory>

#include "kernels.h"
#include "record/check.h"
#include "runtime/session.h"

namespace sconce::test {

class DrySession {
 public:
  DrySession(const runtime::Model& model, const record::Capabilities& capabilities)
      : session_(model, model.methods().begin()->second),
        checker_(capabilities, kernels::all(), &session_.method().graph) {
    session_.record_uses();
  }

  // Checks the model's own Step, then makes a session over its only method. Errors: those of the check.
  static Result<std::unique_ptr<DrySession>> create(runtime::Model& model, const record::Capabilities& capabilities) {
    record::CheckExecutor loader(capabilities, kernels::all());
    SCONCE_DO(loader.check(model.tables(), model.load_step(), record::StepKind::load));
    auto session = std::make_unique<DrySession>(model, capabilities);
    SCONCE_DO(session->check(session->session_.warm_up(), record::StepKind::setup));
    SCONCE_DO(session->check(session->session_.reset(), record::StepKind::setup));
    return session;
  }

  // Errors: those of planning, which change nothing, and those of the check (internal).
  Result<void> run(std::span<const TensorView> inputs) {
    SCONCE_DO(session_.start(inputs));
    for (;;) {
      const record::Step& step = session_.commit();
      SCONCE_DO(check(step, record::StepKind::run, session_.phase()));
      const auto& reads = step.phases[session_.phase()].read_backs;
      std::vector<std::vector<std::byte>> zeros;
      for (const record::ReadBack& read : reads) zeros.emplace_back(read.size);
      const std::vector<std::span<const std::byte>> bytes(zeros.begin(), zeros.end());
      SCONCE_TRY(auto outputs, session_.finish_phase(bytes));
      if (outputs) return {};
    }
  }

 private:
  Result<void> check(const record::Step& step, record::StepKind kind, size_t phase = 0) {
    return checker_.check(session_.tables(), step, kind, phase);
  }

  runtime::Session session_;
  record::CheckExecutor checker_;
};

}  // namespace sconce::test
