#include "cli/likelihood.h"

#include <algorithm>
#include <cmath>

namespace sconce::cli {

Prediction predict(std::span<const float> logits, int32_t token) {
  const auto largest = std::ranges::max_element(logits);
  // Less the largest logit, no exponential overflows.
  double sum = 0;
  for (float logit : logits) sum += std::exp(static_cast<double>(logit) - *largest);
  const double of_token = logits[static_cast<size_t>(token)];
  return {of_token - *largest - std::log(sum), static_cast<int32_t>(largest - logits.begin())};
}

double perplexity(std::span<const double> log_likelihoods) {
  double sum = 0;
  for (double log_likelihood : log_likelihoods) sum += log_likelihood;
  return std::exp(-sum / static_cast<double>(log_likelihoods.size()));
}

Comparison compare(std::span<const Prediction> ours, const Reference& reference, double margin_tolerance) {
  Comparison comparison;
  std::vector<double> log_likelihoods;
  for (size_t i = 0; i < ours.size(); ++i) {
    log_likelihoods.push_back(ours[i].log_likelihood);
    const double difference = std::abs(ours[i].log_likelihood - reference.log_likelihood[i]);
    comparison.worst_log_likelihood = std::max(comparison.worst_log_likelihood, difference);
    if (ours[i].top1 == reference.top1[i])
      ++comparison.agreed;
    else if (reference.margin[i] <= margin_tolerance)
      ++comparison.close;
    else
      comparison.disagreed.push_back(i);
  }
  comparison.perplexity = perplexity(reference.log_likelihood);
  comparison.difference = perplexity(log_likelihoods) / comparison.perplexity - 1;
  return comparison;
}

}  // namespace sconce::cli
