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

Result<void> Generation::begin(std::span<const int32_t> tokens, const GenerationOptions& options) {
  SCONCE_CHECK(!tokens.empty(), "The prompt has no tokens; give at least one.");
  SCONCE_CHECK(
      tokens.size() <= capacity_,
      "The prompt has {} tokens, but the model's context holds {}; shorten it or export with a larger context.",
      tokens.size(), capacity_);
  const auto [mismatch, _] = std::ranges::mismatch(cached_, tokens);
  // At least the last token runs, because its logits are not kept.
  const size_t kept = std::min<size_t>(static_cast<size_t>(mismatch - cached_.begin()), tokens.size() - 1);
  cached_.resize(kept);
  tokens_.assign(tokens.begin(), tokens.end());
  options_ = options;
  sampler_ = Sampler(options.sampling);
  prompt_ = tokens.size();
  prefilled_ = tokens.size() - kept;
  produced_ = feed_ = 0;
  stop_ = options.max_new_tokens == 0 ? StopReason::max_new_tokens : StopReason::none;
  return {};
}

std::optional<Generation::Feed> Generation::next() {
  if (stop_ != StopReason::none) return std::nullopt;
  const size_t position = cached_.size();
  if (position == capacity_) {
    stop_ = StopReason::length;
    return std::nullopt;
  }
  feed_ = std::min(tokens_.size() - position, prefill_bound_);
  Feed feed;
  feed.tokens = std::span(tokens_).subspan(position, feed_);
  feed.position = position;
  feed.is_prefill = produced_ == 0;
  feed.needs_logits = position + feed_ == tokens_.size();
  return feed;
}

Result<std::optional<int32_t>> Generation::accept(std::span<const float> logits) {
  const size_t position = cached_.size();
  cached_.insert(cached_.end(), tokens_.begin() + position, tokens_.begin() + position + feed_);
  if (cached_.size() < tokens_.size()) return std::nullopt;

  const int32_t token = sampler_.sample(logits, produced_);
  if (token < 0)
    return fail(ErrorCode::internal, "None of the {} logits after token {} is a number.", logits.size(),
                cached_.size());
  if (std::ranges::find(options_.end_tokens, token) != options_.end_tokens.end()) {
    stop_ = StopReason::end_token;
    return std::nullopt;
  }
  tokens_.push_back(token);
  if (++produced_ == options_.max_new_tokens) stop_ = StopReason::max_new_tokens;
  return token;
}

}  // namespace runtime
}  // namespace sconce
