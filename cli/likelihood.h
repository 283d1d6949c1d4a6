// How well a model predicts tokens that are known, and how that compares with another run of the same model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sconce::cli {

struct Prediction {
  double log_likelihood = 0;  // natural logarithm of the probability of the token that follows; NaN if a logit is
  int32_t top1 = 0;           // the token held likeliest, the first of equal ones
};

// What `logits` say of `token`, an index into them. Exponentials are summed in f64: in f32 the rounding of a sum over a
// large vocabulary would be as large as the differences that are looked for.
Prediction predict(std::span<const float> logits, int32_t token);

// e to the mean of the negative log-likelihoods.
double perplexity(std::span<const double> log_likelihoods);

// The same predictions made elsewhere, position by position.
struct Reference {
  std::vector<double> log_likelihood;
  std::vector<int64_t> top1;
  std::vector<float> margin;  // the largest logit less the second largest
};

struct Comparison {
  double perplexity = 0;            // the reference's
  double difference = 0;            // ours less the reference's, as a part of the reference's
  double worst_log_likelihood = 0;  // largest absolute difference at a position
  size_t agreed = 0;                // positions with the same top-1 token
  size_t close = 0;                 // with another one, where the reference's margin is within the tolerance
  std::vector<size_t> disagreed;    // the positions that remain
};

// `reference` has as many positions as `ours`.
Comparison compare(std::span<const Prediction> ours, const Reference& reference, double margin_tolerance);

}  // namespace sconce::cli
