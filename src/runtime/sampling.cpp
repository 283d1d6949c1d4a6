#include "runtime/sampling.h"

#include <algorithm>
#include <cmath>

namespace sconce::runtime {
namespace {

uint64_t mix(uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

int32_t largest(std::span<const float> logits) {
  int32_t best = -1;
  for (size_t i = 0; i < logits.size(); ++i)
    if (!std::isnan(logits[i]) && (best < 0 || logits[i] > logits[static_cast<size_t>(best)]))
      best = static_cast<int32_t>(i);
  return best;
}

}  // namespace

double uniform(uint64_t seed, uint64_t index) {
  const uint64_t bits = mix(mix(seed + 0x9e3779b97f4a7c15ull) + (index + 1) * 0x9e3779b97f4a7c15ull);
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

int32_t Sampler::sample(std::span<const float> logits, uint64_t index) {
  const int32_t best = largest(logits);
  if (options_.temperature <= 0.0f || best < 0) return best;

  // Weights relative to the best token, whose weight is 1: no overflow, and min_p is a plain comparison.
  const float top = logits[static_cast<size_t>(best)];
  candidates_.clear();
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i])) continue;
    const float weight = logits[i] == top ? 1.0f : std::exp((logits[i] - top) / options_.temperature);
    if (weight >= options_.min_p && weight > 0.0f) candidates_.emplace_back(weight, static_cast<int32_t>(i));
  }
  const bool ranked = options_.top_k > 0 || options_.top_p < 1.0f;
  if (ranked) std::ranges::stable_sort(candidates_, [](const auto& a, const auto& b) { return a.first > b.first; });
  if (options_.top_k > 0 && candidates_.size() > static_cast<size_t>(options_.top_k))
    candidates_.resize(static_cast<size_t>(options_.top_k));

  double total = 0.0;
  for (const auto& [weight, token] : candidates_) total += weight;
  if (options_.top_p < 1.0f) {
    double kept = 0.0;
    size_t count = 0;
    while (count < candidates_.size() && (count == 0 || kept < options_.top_p * total))
      kept += candidates_[count++].first;
    candidates_.resize(count);
    total = kept;
  }
  double target = uniform(options_.seed, index) * total;
  for (const auto& [weight, token] : candidates_) {
    target -= weight;
    if (target < 0.0) return token;
  }
  return candidates_.back().second;
}

}  // namespace sconce::runtime
