// sconce::Generator: pumps runtime::Generation with runs of a session whose method also chooses the token.
#include "sconce/generator.h"

#include <chrono>
#include <deque>

#include "base/error.h"
#include "runtime/generation_method.h"
#include "webgpu/session_impl.h"

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
  Impl(Session s, const MethodInfo& method, size_t capacity, const runtime::Pace& pace)
      : session(std::move(s)),
        generation(static_cast<size_t>(method.inputs[0].bound[1]), capacity, pace),
        prefill_bound(static_cast<size_t>(method.inputs[0].bound[1])),
        context_length(capacity),
        vocabulary(static_cast<size_t>(method.outputs[0].bound.back())),
        output_count(method.outputs.size()),
        position_shape(method.inputs[1].is_symint ? Shape{} : method.inputs[1].bound) {}

  struct Run {
    webgpu::PendingRead reads;
    Clock::time_point start;
    bool is_prefill, chooses, has_logits;
  };

  Result<void> submit(const runtime::Generation::Feed& feed) {
    const bool wants_logits = options.read_logits && feed.needs_logits;
    for (size_t i = 0; i < output_count; ++i) session.impl().session.read_output(i, i == 0 && wants_logits);
    ids.assign(feed.tokens.begin(), feed.tokens.end());
    words[0] = static_cast<int64_t>(feed.position);
    std::ranges::copy(runtime::sampling_inputs(feed), words.begin() + 1);
    inputs.clear();
    // A new token is on the GPU already: the choice wrote it to where the method reads its tokens.
    inputs.push_back({Dtype::i64,
                      {1, static_cast<int64_t>(feed.count)},
                      feed.is_prefill ? std::as_bytes(std::span(ids)) : std::span<const std::byte>()});
    inputs.push_back({Dtype::i64, position_shape, std::as_bytes(std::span(words).first(1))});
    for (size_t i = 0; i < runtime::kSamplingInputs; ++i)
      inputs.push_back({Dtype::i64, {}, std::as_bytes(std::span(words).subspan(1 + i, 1))});
    const auto start = Clock::now();
    SCONCE_TRY(webgpu::PendingRead reads, session.impl().start_ahead(inputs));
    runs.push_back({std::move(reads), start, feed.is_prefill, feed.needs_logits, wants_logits});
    return {};
  }

  // Keeps as many runs under way as the pace allows.
  Result<void> submit_ahead() {
    while (auto feed = generation.next()) {
      if (auto submitted = submit(*feed); !submitted) {
        generation.withdraw();
        return submitted;
      }
    }
    return {};
  }

  // Waits for the oldest run and counts its time to where it belongs.
  Result<std::optional<int32_t>> finish() {
    Run run = std::move(runs.front());
    runs.pop_front();
    if (auto arrived = run.reads.wait(); !arrived) return session.impl().broken(std::move(arrived).error());
    if (auto healthy = session.impl().model->gpu->check(); !healthy)
      return session.impl().broken(std::move(healthy).error());
    if (run.has_logits) {
      const std::span<const std::byte> bytes = run.reads.bytes(0).last(vocabulary * sizeof(float));
      logits.assign(reinterpret_cast<const float*>(bytes.data()),
                    reinterpret_cast<const float*>(bytes.data() + bytes.size()));
    }
    const std::span<const std::byte> ring = run.reads.bytes(run.has_logits ? 1 : 0);
    const auto* chosen = reinterpret_cast<const int32_t*>(ring.data());
    SCONCE_TRY(auto token, generation.accept(std::span(chosen, runtime::kRingTokens), seconds_since(run.start)));
    if (run.is_prefill) {
      times.prefill_s = seconds_since(began);
    } else {
      times.decode_s = seconds_since(began) - times.prefill_s;
      ++times.decode_steps;
    }
    return token;
  }

  Session session;
  runtime::Generation generation;
  size_t prefill_bound, context_length, vocabulary, output_count;
  Shape position_shape;
  GenerationOptions options;
  std::deque<Run> runs;  // under way, oldest first
  std::vector<float> logits;
  GenerationTimes times;
  Clock::time_point began;
  // Of the run that is being submitted; members, so that a step allocates nothing.
  std::vector<int64_t> ids;
  std::array<int64_t, 1 + runtime::kSamplingInputs> words = {};
  std::vector<TensorView> inputs;
};

Result<Generator> Generator::create(const Model& model, std::string_view name, const GeneratorOptions& options) {
  const planner::Method* prepared = model.impl().model->method(name);
  if (!prepared)
    return fail(ErrorCode::not_found, "The model has no method {}; `sconce inspect` lists those it has.", name);
  const MethodInfo& method = *model.method(name);
  SCONCE_DO(check_language_model(method));
  const size_t capacity = find_capacity(model, static_cast<size_t>(method.inputs[0].bound[1]));
  SCONCE_TRY(auto with_choice, runtime::add_sampling(*model.impl().model, *prepared));
  SCONCE_TRY(auto session, Session::Impl::create(model.impl_, std::move(with_choice), options.session));
  runtime::Pace pace = runtime::pace_of(session->model->gpu->adapter().adapter_class);
  if (options.steps_ahead > 0) pace.steps_ahead = options.steps_ahead;
  return Generator(std::make_unique<Impl>(Session(std::move(session)), method, capacity, pace));
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
  impl_->runs.clear();
  impl_->options = options;
  impl_->times = {};
  impl_->times.prompt_tokens = impl_->generation.prompt_tokens();
  impl_->times.prefilled_tokens = impl_->generation.prefilled_tokens();
  impl_->began = Clock::now();
  return {};
}

Result<std::optional<int32_t>> Generator::next(const std::function<bool()>& go_on) {
  while (true) {
    SCONCE_DO(impl_->submit_ahead());
    if (impl_->generation.under_way() == 0) break;
    SCONCE_TRY(std::optional<int32_t> token, impl_->finish());
    if (go_on && !go_on()) cancel();
    if (!token) continue;
    if (impl_->times.new_tokens++ == 0) impl_->times.first_token_s = seconds_since(impl_->began);
    return token;
  }
  impl_->runs.clear();  // steps beyond the end
  return std::nullopt;
}

std::span<const float> Generator::logits() const {
  return impl_->logits;
}

void Generator::cancel() {
  impl_->generation.cancel();
}

Result<void> Generator::reset() {
  impl_->generation.forget();
  impl_->runs.clear();
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
