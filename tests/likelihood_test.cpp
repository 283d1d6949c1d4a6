// The arithmetic of `sconce perplexity`.
#include "cli/likelihood.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sconce::cli {
namespace {

using testing::ElementsAre;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

TEST(Likelihood, IsTheLogarithmOfTheSoftmax) {
  struct Case {
    std::vector<float> logits;
    int32_t token;
    double log_likelihood;
    int32_t top1;
  };
  const double sum = 1 + std::exp(-1.0) + std::exp(-2.0);
  const Case cases[] = {
      {{5}, 0, 0, 0},                        // nothing else can follow
      {{0, 0, 0, 0}, 2, -std::log(4.0), 0},  // of equal logits the first is the top one
      {{1, 2, 3}, 2, -std::log(sum), 2},
      {{1, 2, 3}, 0, -2 - std::log(sum), 2},
      {{1001, 1002, 1003}, 1, -1 - std::log(sum), 2},     // exp(1003) would overflow
      {{-2001, -2002, -2003}, 2, -2 - std::log(sum), 0},  // and all of these vanish
      {{0, -200}, 1, -200, 0},                            // smaller than any f32
      {{0, -kInfinity}, 0, 0, 0},                         // a token that is ruled out
      {{0, -kInfinity}, 1, -std::numeric_limits<double>::infinity(), 0},
  };
  for (const Case& c : cases) {
    const Prediction prediction = predict(c.logits, c.token);
    EXPECT_DOUBLE_EQ(prediction.log_likelihood, c.log_likelihood) << testing::PrintToString(c.logits);
    EXPECT_EQ(prediction.top1, c.top1) << testing::PrintToString(c.logits);
  }
}

TEST(Likelihood, IsNotANumberWhereALogitIsNone) {
  EXPECT_TRUE(std::isnan(predict(std::vector<float>{0, kNotANumber, 1}, 0).log_likelihood));
  EXPECT_TRUE(std::isnan(predict(std::vector<float>{kNotANumber, 1}, 1).log_likelihood));
  EXPECT_TRUE(std::isnan(predict(std::vector<float>{kInfinity, 1}, 1).log_likelihood));
}

// Each of the many small terms is lost when it is added to 1 in f32.
TEST(Likelihood, SumsInDoublePrecision) {
  constexpr size_t kTerms = 1 << 16;
  std::vector<float> logits(1 + kTerms, -18.0f);
  logits[0] = 0;
  ASSERT_EQ(1.0f + std::exp(-18.0f), 1.0f);
  EXPECT_NEAR(predict(logits, 0).log_likelihood, -std::log1p(kTerms * std::exp(-18.0)), 1e-11);
}

TEST(Likelihood, PerplexityOfEvenChoicesIsTheirNumber) {
  EXPECT_NEAR(perplexity(std::vector<double>(7, -std::log(10.0))), 10, 1e-12);
  EXPECT_NEAR(perplexity(std::vector<double>{-std::log(2.0), -std::log(8.0)}), 4, 1e-12);
  EXPECT_EQ(perplexity(std::vector<double>{0, -std::numeric_limits<double>::infinity()}), kInfinity);
}

TEST(Likelihood, ComparesPositionByPosition) {
  const std::vector<Prediction> ours = {{-1.0, 5}, {-2.5, 6}, {-3.0, 7}, {-1.5, 8}};
  const Reference reference = {
      .log_likelihood = {-1.0, -2.0, -3.25, -1.75}, .top1 = {5, 9, 9, 9}, .margin = {0.0f, 0.25f, 0.26f, 2.0f}};
  const Comparison comparison = compare(ours, reference, 0.25f);
  EXPECT_NEAR(comparison.perplexity, std::exp(2.0), 1e-12);
  EXPECT_NEAR(comparison.difference, 0, 1e-12) << "the differences cancel out";
  EXPECT_DOUBLE_EQ(comparison.worst_log_likelihood, 0.5);
  EXPECT_EQ(comparison.agreed, 1u);
  EXPECT_EQ(comparison.close, 1u) << "a margin that equals the tolerance";
  EXPECT_THAT(comparison.disagreed, ElementsAre(2, 3));
  EXPECT_NEAR(compare(std::vector<Prediction>{{-2.0, 5}}, {{-1.0}, {5}, {1.0f}}, 0).difference, std::exp(1.0) - 1,
              1e-12)
      << "ours is worse";
}

}  // namespace
}  // namespace sconce::cli
