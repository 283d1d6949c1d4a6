// Answers, as src/webgpu/generator.cpp pumps them natively: each feed is a run of a session that also chooses the
// token, and the next feeds may start before its token is read.
#include "runtime/generation.h"

#include "runtime/generation_method.h"
#include "wasm/session.h"

namespace sconce::wasm {
namespace {

using runtime::Generation;

// What generation_accept gives beside tokens.
constexpr uint32_t kNoToken = kFailed - 1;

struct Answering {
  Generation generation;
  Shape position_shape;
};

Result<std::shared_ptr<const planner::Method>> method_with_choice(const LoadedModel& model, const char* name) {
  const planner::Method* method = model.model->method(name);
  if (!method) return fail(ErrorCode::not_found, "The model has no method {}.", name);
  const graph::Graph& graph = method->graph;
  const auto* tokens = graph.inputs.size() == 2 ? graph.tensor(graph.inputs[0]) : nullptr;
  const auto* logits = graph.outputs.empty() ? nullptr : graph.tensor(graph.outputs[0]);
  SCONCE_CHECK(tokens && tokens->bound.rank() == 2 && logits && logits->bound.rank() >= 2,
               "Method {} is not a language model's: a chat needs inputs tokens [1, S] and position [1], and logits as "
               "the first output.",
               name);
  return runtime::add_sampling(*model.model, *method);
}

Result<void> start(Answering& answering, RunningSession& running, const Generation::Feed& feed) {
  const std::vector<int64_t> ids(feed.tokens.begin(), feed.tokens.end());
  const int64_t position = static_cast<int64_t>(feed.position);
  const auto words = runtime::sampling_inputs(feed);
  // A new token is on the GPU already: the choice wrote it to where the method reads its tokens.
  const auto bytes = feed.is_prefill ? std::as_bytes(std::span(ids)) : std::span<const std::byte>();
  std::vector<TensorView> inputs = {{Dtype::i64, {1, static_cast<int64_t>(feed.count)}, bytes},
                                    {Dtype::i64, answering.position_shape, std::as_bytes(std::span(&position, 1))}};
  for (const int64_t& word : words) inputs.push_back({Dtype::i64, {}, std::as_bytes(std::span(&word, 1))});
  return running.session.start(inputs);
}

}  // namespace

// A session whose runs choose tokens, or 0.
SCONCE_EXPORT(generation_session) RunningSession* generation_session(const LoadedModel* model, const char* method) {
  auto prepared = method_with_choice(*model, method);
  if (!prepared) return give_error(prepared.error()), nullptr;
  auto* running = make_session(*model, *std::move(prepared));
  const size_t outputs = running->method->graph.outputs.size();
  for (size_t i = 0; i + 1 < outputs; ++i) running->session.read_output(i, false);  // the ring is enough
  return running;
}

// `capacity`: rows of the KV cache; 0 when the program does not say. `steps_ahead`: feeds under way at once; 0: what
// suits the adapter.
SCONCE_EXPORT(generation_create)
Answering* generation_create(const RunningSession* running, uint32_t capacity, AdapterClass adapter,
                             uint32_t steps_ahead) {
  const graph::Graph& graph = running->method->graph;
  const auto bound = static_cast<size_t>(graph.tensor(graph.inputs[0])->bound[1]);
  const auto* position = graph.tensor(graph.inputs[1]);
  runtime::Pace pace = runtime::pace_of(adapter);
  if (steps_ahead > 0) pace.steps_ahead = steps_ahead;
  return new Answering{Generation(bound, capacity > 0 ? capacity : bound, pace), position ? position->bound : Shape{}};
}
SCONCE_EXPORT(generation_delete) void generation_delete(Answering* answering) {
  delete answering;
}

SCONCE_EXPORT(generation_begin)
uint32_t generation_begin(Answering* answering, const int32_t* tokens, uint32_t count, const AnswerOptions* options) {
  GenerationOptions wanted;
  wanted.sampling = {options->temperature, static_cast<int32_t>(options->top_k), options->top_p, options->min_p,
                     options->seed};
  wanted.max_new_tokens = options->max_new_tokens;
  const auto ends = span_at<int32_t>(options->end_tokens, options->end_token_count);
  wanted.end_tokens.assign(ends.begin(), ends.end());
  return status(answering->generation.begin({tokens, count}, wanted));
}
// Starts the run of the next feed, as session_start does: 1; or 0 when as many are under way as should be, or when the
// answer is complete.
SCONCE_EXPORT(generation_start) uint32_t generation_start(Answering* answering, RunningSession* running) {
  auto feed = answering->generation.next();
  if (!feed) return 0;
  auto started = start(*answering, *running, *feed);
  if (started) return 1;
  answering->generation.withdraw();
  return give_error(started.error());
}
// The run that generation_start began has failed.
SCONCE_EXPORT(generation_withdraw) void generation_withdraw(Answering* answering) {
  answering->generation.withdraw();
}
// Takes the result of the oldest run, the ring as it was after it: the new token, kNoToken, or kFailed.
SCONCE_EXPORT(generation_accept)
uint32_t generation_accept(Answering* answering, const int32_t* ring, double seconds) {
  auto token = answering->generation.accept({ring, runtime::kRingTokens}, seconds);
  if (!token) return give_error(token.error());
  return *token ? static_cast<uint32_t>(**token) : kNoToken;
}
// Feeds whose results are still to be taken: none when the answer is complete, whatever was started beyond its end.
SCONCE_EXPORT(generation_under_way) uint32_t generation_under_way(const Answering* answering) {
  return static_cast<uint32_t>(answering->generation.under_way());
}
// Ends an answer that is not complete.
SCONCE_EXPORT(generation_cancel) void generation_cancel(Answering* answering) {
  if (answering->generation.stop_reason() == StopReason::none) answering->generation.cancel();
}
SCONCE_EXPORT(generation_forget) void generation_forget(Answering* answering) {
  answering->generation.forget();
}
SCONCE_EXPORT(generation_stop_reason) Address generation_stop_reason(const Answering* answering) {
  return give_text(name_of(answering->generation.stop_reason()));
}
SCONCE_EXPORT(generation_prefilled) uint32_t generation_prefilled(const Answering* answering) {
  return static_cast<uint32_t>(answering->generation.prefilled_tokens());
}

}  // namespace sconce::wasm
