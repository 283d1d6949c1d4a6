// Answers: the host runs each feed on a session and lets the machine accept the session's logits where they lie.
#include "runtime/generation.h"

#include "wasm/session.h"

namespace sconce::wasm {

using runtime::Generation;

// What generation_accept gives beside tokens.
inline constexpr uint32_t kNoToken = kFailed - 1;

SCONCE_EXPORT(generation_create) Generation* generation_create(uint32_t prefill_bound, uint32_t capacity) {
  return new Generation(prefill_bound, capacity);
}
SCONCE_EXPORT(generation_delete) void generation_delete(Generation* generation) {
  delete generation;
}

SCONCE_EXPORT(generation_begin)
uint32_t generation_begin(Generation* generation, const int32_t* tokens, uint32_t count, const AnswerOptions* options) {
  GenerationOptions wanted;
  wanted.sampling = {options->temperature, static_cast<int32_t>(options->top_k), options->top_p, options->min_p,
                     options->seed};
  wanted.max_new_tokens = options->max_new_tokens;
  const auto ends = span_at<int32_t>(options->end_tokens, options->end_token_count);
  wanted.end_tokens.assign(ends.begin(), ends.end());
  return status(generation->begin({tokens, count}, wanted));
}
// Whether there is a feed to run; without one the answer is complete.
SCONCE_EXPORT(generation_next) bool generation_next(Generation* generation, FeedView* view) {
  auto feed = generation->next();
  if (feed)
    *view = {address_of(feed->tokens.data()), static_cast<uint32_t>(feed->tokens.size()),
             static_cast<uint32_t>(feed->position), feed->is_prefill};
  return feed.has_value();
}
// Takes the last row of the session's first output; the new token, kNoToken, or kFailed.
SCONCE_EXPORT(generation_accept)
uint32_t generation_accept(Generation* generation, const RunningSession* running, uint32_t vocabulary) {
  const auto logits = running->outputs[0].as<float>();
  if (logits.size() < vocabulary)
    return give_error({ErrorCode::internal,
                       fmt::format("The model gives {} logits where {} are expected.", logits.size(), vocabulary),
                       {}});
  auto token = generation->accept(logits.last(vocabulary));
  if (!token) return give_error(token.error());
  return *token ? static_cast<uint32_t>(**token) : kNoToken;
}
SCONCE_EXPORT(generation_cancel) void generation_cancel(Generation* generation) {
  generation->cancel();
}
SCONCE_EXPORT(generation_forget) void generation_forget(Generation* generation) {
  generation->forget();
}
SCONCE_EXPORT(generation_stop_reason) Address generation_stop_reason(const Generation* generation) {
  return give_text(name_of(generation->stop_reason()));
}
SCONCE_EXPORT(generation_prefilled) uint32_t generation_prefilled(const Generation* generation) {
  return static_cast<uint32_t>(generation->prefilled_tokens());
}

}  // namespace sconce::wasm
