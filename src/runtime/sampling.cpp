#include "runtime/sampling.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace sconce::runtime {
namespace {

// SplitMix64's finalizer (Steele, Lea, Flood 2014).
uint64_t mix(uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

uint32_t draw_for(uint64_t seed, uint64_t index) {
  return static_cast<uint32_t>(mix(mix(seed + 0x9e3779b97f4a7c15ull) + (index + 1) * 0x9e3779b97f4a7c15ull) >> 32);
}

uint32_t high_word(uint64_t a, uint64_t b) {
  return static_cast<uint32_t>(a * b >> 32);
}

// floor(a * fraction / 2^32).
uint64_t scale(uint64_t a, uint32_t fraction) {
  return (a >> 32) * fraction + high_word(a & 0xffffffffu, fraction);
}

int32_t largest(std::span<const float> logits) {
  int32_t best = -1;
  for (size_t i = 0; i < logits.size(); ++i)
    if (!std::isnan(logits[i]) && (best < 0 || logits[i] > logits[static_cast<size_t>(best)]))
      best = static_cast<int32_t>(i);
  return best;
}

// sample_weights.wgsl has the same steps.
uint32_t weight_of(float logit, float top, const SamplingWords& words) {
  if (std::isnan(logit)) return 0;
  if (logit == top) return 1u << 30;
  if (std::isinf(logit) || std::isinf(top)) return 0;
  const float x = std::min((top - logit) * words.scale, 40.0f);
  const auto steps = static_cast<uint32_t>(x * 1048576.0f);
  const uint32_t n = steps >> 20;
  if (n > 30) return 0;
  const uint32_t y = high_word((steps & 0xfffff) << 12, 2977044472u);  // fraction * ln 2
  uint32_t power = 0x80000000u;
  for (uint32_t k = 9; k > 0; --k) power = 0x80000000u - high_word(y, power) / k;
  const uint32_t weight = power >> (n + 1);
  return weight < words.min_weight ? 0 : weight;
}

}  // namespace

std::array<int64_t, 5> SamplingWords::symints() const {
  auto word = [](uint32_t bits) { return int64_t{static_cast<int32_t>(bits)}; };  // a SymInt is an i32
  return {word(std::bit_cast<uint32_t>(scale)), word(top_k), word(top_p), word(min_weight), word(draw)};
}

SamplingWords sampling_words(const SamplingOptions& options, uint64_t index) {
  SamplingWords words;
  // Below this temperature a tenth of a logit is worth 2^-40: that is greedy.
  if (!(options.temperature > 0.0025f)) return words;
  words.scale = static_cast<float>(std::numbers::log2e / double{options.temperature});
  words.top_k = static_cast<uint32_t>(std::max(options.top_k, 0));
  if (options.top_p < 1.0f)
    words.top_p = std::max(1u, static_cast<uint32_t>(std::max(0.0, double{options.top_p}) * 0x1.0p32));
  words.min_weight = static_cast<uint32_t>(std::ceil(std::clamp(double{options.min_p}, 0x1.0p-30, 1.0) * 0x1.0p30));
  words.draw = draw_for(options.seed, index);
  return words;
}

int32_t Sampler::sample(std::span<const float> logits, const SamplingWords& words) {
  const int32_t best = largest(logits);
  if (words.scale <= 0.0f || best < 0) return best;

  candidates_.clear();
  uint64_t total = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const uint32_t weight = weight_of(logits[i], logits[static_cast<size_t>(best)], words);
    if (weight > 0) candidates_.emplace_back(weight, static_cast<int32_t>(i));
    total += weight;
  }
  if (words.top_k > 0 || words.top_p > 0)
    std::ranges::stable_sort(candidates_, [](const auto& a, const auto& b) { return a.first > b.first; });
  if (words.top_k > 0 && candidates_.size() > words.top_k) {
    candidates_.resize(words.top_k);
    total = 0;
    for (const auto& [weight, token] : candidates_) total += weight;
  }
  if (words.top_p > 0) {
    const uint64_t wanted = std::max<uint64_t>(scale(total, words.top_p), 1);
    size_t count = 0;
    for (total = 0; total < wanted; ++count) total += candidates_[count].first;
    candidates_.resize(count);
  }
  std::ranges::sort(candidates_, {}, &std::pair<uint32_t, int32_t>::second);
  const uint64_t goal = scale(total, words.draw);
  uint64_t sum = 0;
  for (const auto& [weight, token] : candidates_) {
    sum += weight;
    if (sum > goal) return token;
  }
  return best;  // not reached: goal is below the sum
}

}  // namespace sconce::runtime
