// sconce::Generator: pumps runtime::Generation with runs of a session.
#include "sconce/generator.h"

#include <chrono>

#include "base/error.h"
#include "runtime/generation.h"

namespace sconce {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool is_integer(const ValueInfo& value) {
  return value.dtype == Dtype::i64 || value.dtype == Dtype::i32;
}

Result<void> check_language_model(const MethodInfo& method) {
  const bool takes_tokens = method.inputs.size() == 2 && is_integer(method.inputs[0]) &&
                            method.inputs[0].bound.rank() == 2 && is_integer(method.inputs[1]);
  const bool gives_logits =
      !method.outputs.empty() && method.outputs[0].dtype == Dtype::f32 && method.outputs[0].bound.rank() >= 2;
  if (takes_tokens && gives_logits) return {};
  return fail(ErrorCode::unsupported,
              "Method {} is not a language model's: generation needs inputs tokens [1, S] and position [1] of i64 and "
              "logits of f32 as the first output; `sconce inspect` shows what the method has.",
              method.name);
}

// Rows of the KV cache: what the exporter says, else the bound of a run.
size_t find_capacity(const Model& model, size_t prefill_bound) {
  auto found = model.metadata().find("get_max_context_len");
  if (found != model.metadata().end() && !found->second.empty() && found->second[0] > 0)
    return static_cast<size_t>(found->second[0]);
  return prefill_bound;
}

}  // namespace

struct Generator::Impl {
  Impl(Session s, const MethodInfo& method, size_t capacity)
      : session(std::move(s)),
        generation(static_cast<size_t>(method.inputs[0].bound[1]), capacity),
        prefill_bound(static_cast<size_t>(method.inputs[0].bound[1])),
        context_length(capacity),
        vocabulary(static_cast<size_t>(method.outputs[0].bound.back())),
        position_shape(method.inputs[1].is_symint ? Shape{} : method.inputs[1].bound) {}

  // Runs the model once and counts the time to where it belongs.
  Result<std::optional<int32_t>> run(const runtime::Generation::Feed& feed) {
    const auto start = Clock::now();
    std::vector<int64_t> ids(feed.tokens.begin(), feed.tokens.end());
    const Tensor tokens = Tensor::of<int64_t>({1, static_cast<int64_t>(ids.size())}, std::span<const int64_t>(ids));
    const Tensor position = Tensor::of<int64_t>(position_shape, {static_cast<int64_t>(feed.position)});
    SCONCE_TRY(std::vector<Tensor> outputs, session.run({tokens, position}));
    std::span<const float> logits = outputs[0].as<float>();
    SCONCE_CHECK(logits.size() >= vocabulary, "The model gives {} logits where {} are expected.", logits.size(),
                 vocabulary);
    SCONCE_TRY(auto token, generation.accept(logits.last(vocabulary)));
    (feed.is_prefill ? times.prefill_s : times.decode_s) += seconds_since(start);
    times.decode_steps += feed.is_prefill ? 0 : 1;
    return token;
  }

  Session session;
  runtime::Generation generation;
  size_t prefill_bound, context_length, vocabulary;
  Shape position_shape;
  GenerationTimes times;
  Clock::time_point began;
};

Result<Generator> Generator::create(const Model& model, std::string_view name) {
  SCONCE_TRY(Session session, Session::create(model, name));
  const MethodInfo& method = *model.method(name);
  SCONCE_DO(check_language_model(method));
  const size_t capacity = find_capacity(model, static_cast<size_t>(method.inputs[0].bound[1]));
  return Generator(std::make_unique<Impl>(std::move(session), method, capacity));
}

Generator::Generator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Generator::Generator(Generator&&) noexcept = default;
Generator& Generator::operator=(Generator&&) noexcept = default;
Generator::~Generator() = default;

size_t Generator::context_length() const {
  return impl_->context_length;
}
size_t Generator::prefill_bound() const {
  return impl_->prefill_bound;
}
size_t Generator::vocabulary() const {
  return impl_->vocabulary;
}

Result<void> Generator::begin(std::span<const int32_t> tokens, const GenerationOptions& options) {
  SCONCE_DO(impl_->generation.begin(tokens, options));
  impl_->times = {};
  impl_->times.prompt_tokens = impl_->generation.prompt_tokens();
  impl_->times.prefilled_tokens = impl_->generation.prefilled_tokens();
  impl_->began = Clock::now();
  return {};
}

Result<std::optional<int32_t>> Generator::next() {
  while (auto feed = impl_->generation.next()) {
    SCONCE_TRY(std::optional<int32_t> token, impl_->run(*feed));
    if (!token) continue;
    if (impl_->times.new_tokens++ == 0) impl_->times.first_token_s = seconds_since(impl_->began);
    return token;
  }
  return std::nullopt;
}

void Generator::cancel() {
  impl_->generation.cancel();
}

Result<void> Generator::reset() {
  impl_->generation.forget();
  return impl_->session.reset();
}

StopReason Generator::stop_reason() const {
  return impl_->generation.stop_reason();
}
GenerationTimes Generator::times() const {
  return impl_->times;
}
Session& Generator::session() {
  return impl_->session;
}

}  // namespace sconce
