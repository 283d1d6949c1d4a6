#include "runtime/generation.h"

#include <algorithm>

namespace sconce {

const char* name_of(StopReason reason) {
  switch (reason) {
    case StopReason::none:
      return "none";
    case StopReason::end_token:
      return "stop";
    case StopReason::max_new_tokens:
      return "max_new_tokens";
    case StopReason::length:
      return "length";
    case StopReason::cancelled:
      return "cancelled";
  }
  return "none";
}

namespace runtime {
namespace {

// Enough that the GPU has work while the host reads a token and plans: the host's part of a step is shorter than the
// GPU's.
constexpr size_t kStepsAhead = 3;
// A person who cancels waits for one chunk of the prompt.
constexpr double kChunkSeconds = 0.4;

}  // namespace

Pace pace_of(AdapterClass adapter) {
  switch (adapter) {
    case AdapterClass::software:
      // It computes a step a hundred times longer than the host plans it: steps ahead would only delay what comes after
      // a cancelled answer.
      return {.steps_ahead = 1, .first_chunk = 16, .chunk_seconds = kChunkSeconds};
    case AdapterClass::integrated:
      return {.steps_ahead = kStepsAhead, .first_chunk = 128, .chunk_seconds = kChunkSeconds};
    case AdapterClass::discrete:
      break;
  }
  return {.steps_ahead = kStepsAhead};
}

Result<void> Generation::begin(std::span<const int32_t> tokens, const GenerationOptions& options) {
  SCONCE_CHECK(!tokens.empty(), "The prompt has no tokens; give at least one.");
  SCONCE_CHECK(
      tokens.size() <= capacity_,
      "The prompt has {} tokens, but the model's context holds {}; shorten it or export with a larger context.",
      tokens.size(), capacity_);
  const auto cached = std::span(tokens_).first(cached_);
  const auto [mismatch, _] = std::ranges::mismatch(cached, tokens);
  // At least the last token runs, because its logits are not kept.
  cached_ = std::min<size_t>(static_cast<size_t>(mismatch - cached.begin()), tokens.size() - 1);
  fed_ = cached_;
  tokens_.assign(tokens.begin(), tokens.end());
  under_way_.clear();
  options_ = options;
  prompt_ = tokens.size();
  prefilled_ = tokens.size() - cached_;
  produced_ = 0;
  stop_ = options.max_new_tokens == 0 ? StopReason::max_new_tokens : StopReason::none;
  return {};
}

std::optional<Generation::Feed> Generation::next() {
  if (stop_ != StopReason::none || under_way_.size() >= pace_.steps_ahead) return std::nullopt;
  if (produced_ + chosen_ahead() == options_.max_new_tokens) return std::nullopt;
  if (fed_ == capacity_) {
    if (under_way_.empty()) stop_ = StopReason::length;
    return std::nullopt;
  }
  Feed feed;
  feed.position = fed_;
  feed.is_prefill = fed_ < prompt_;
  feed.count = feed.is_prefill ? std::min({prompt_ - fed_, prefill_bound_, chunk_}) : 1;
  if (fed_ < tokens_.size()) feed.tokens = std::span(tokens_).subspan(fed_, feed.count);
  feed.needs_logits = fed_ + feed.count >= prompt_;
  const size_t index = produced_ + chosen_ahead();
  feed.words = sampling_words(options_.sampling, index);
  feed.slot = static_cast<uint32_t>(index % kRingTokens);
  fed_ += feed.count;
  under_way_.push_back(feed);
  return feed;
}

void Generation::withdraw() {
  fed_ = under_way_.back().position;
  under_way_.pop_back();
}

size_t Generation::chosen_ahead() const {
  return static_cast<size_t>(std::ranges::count(under_way_, true, &Feed::needs_logits));
}

Result<std::optional<int32_t>> Generation::accept(std::span<const int32_t> ring, double seconds) {
  const Feed feed = under_way_.front();
  if (feed.is_prefill && pace_.chunk_seconds > 0 && seconds > 0) {
    // Whole eights: kernels work on rows by the tile. Never more than fourfold, as short feeds are the least precise.
    const double fits = pace_.chunk_seconds / seconds * static_cast<double>(feed.count);
    chunk_ = std::max<size_t>(8, static_cast<size_t>(std::min(fits, 4.0 * static_cast<double>(feed.count))) / 8 * 8);
  }
  return take(feed, feed.needs_logits ? ring[feed.slot] : 0);
}

Result<std::optional<int32_t>> Generation::accept(std::span<const float> logits) {
  const Feed feed = under_way_.front();
  return take(feed, feed.needs_logits ? sampler_.sample(logits, feed.words) : 0);
}

Result<std::optional<int32_t>> Generation::take(const Feed& feed, int32_t token) {
  under_way_.pop_front();
  cached_ = feed.position + feed.count;
  if (!feed.needs_logits) return std::nullopt;
  if (token < 0) {
    stop(StopReason::cancelled);
    return fail(ErrorCode::internal, "None of the logits after token {} is a number.", feed.position + feed.count);
  }
  if (std::ranges::find(options_.end_tokens, token) != options_.end_tokens.end()) {
    stop(StopReason::end_token);
    return std::nullopt;
  }
  tokens_.push_back(token);
  if (++produced_ == options_.max_new_tokens) stop(StopReason::max_new_tokens);
  return token;
}

void Generation::stop(StopReason reason) {
  stop_ = reason;
  under_way_.clear();
  fed_ = cached_;
}

void Generation::forget() {
  tokens_.clear();
  under_way_.clear();
  fed_ = cached_ = 0;
}

}  // namespace runtime
}  // namespace sconce
