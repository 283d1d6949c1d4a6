// The generation state machine and sampling, without a model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/generation.h"

namespace sconce::runtime {
namespace {

using testing::ElementsAre;

// Logits that make `token` the greedy choice.
std::vector<float> prefer(int32_t token) {
  std::vector<float> logits(8, 0.0f);
  logits[static_cast<size_t>(token)] = 1.0f;
  return logits;
}

// Runs feeds until a token or the end; gives the sizes of the feeds.
std::vector<size_t> run(Generation& generation, int32_t next_token) {
  std::vector<size_t> sizes;
  while (auto feed = generation.next()) {
    sizes.push_back(feed->tokens.size());
    auto token = generation.accept(feed->needs_logits ? prefer(next_token) : std::vector<float>{});
    EXPECT_TRUE(token);
    if (*token) break;
  }
  return sizes;
}

TEST(Generation, ChunksAPromptLongerThanTheBound) {
  Generation generation(4, 64);
  const std::vector<int32_t> prompt(10, 1);
  ASSERT_TRUE(generation.begin(prompt, {}));
  EXPECT_THAT(run(generation, 3), ElementsAre(4, 4, 2));
  EXPECT_THAT(run(generation, 3), ElementsAre(1));
  EXPECT_EQ(generation.new_tokens(), 2u);
}

TEST(Generation, PrefillsOnlyWhatIsNewInAChat) {
  Generation generation(16, 64);
  ASSERT_TRUE(generation.begin(std::vector<int32_t>{1, 2, 3}, {}));
  run(generation, 5);
  run(generation, 6);  // the cache now holds 1 2 3 5; 6 was chosen but not run
  ASSERT_TRUE(generation.begin(std::vector<int32_t>{1, 2, 3, 5, 6, 7}, {}));
  EXPECT_EQ(generation.prefilled_tokens(), 2u);
  EXPECT_EQ(generation.next()->position, 4u);
  // A conversation that was edited keeps the common beginning alone.
  ASSERT_TRUE(generation.begin(std::vector<int32_t>{1, 2, 4}, {}));
  EXPECT_EQ(generation.next()->position, 2u);
  // The same conversation once more runs its last token, because its logits were not kept.
  ASSERT_TRUE(generation.begin(std::vector<int32_t>{1, 2}, {}));
  EXPECT_EQ(generation.next()->position, 1u);
}

TEST(Generation, StopsForEachReason) {
  Generation generation(8, 6);
  ASSERT_TRUE(generation.begin(std::vector<int32_t>{1, 2}, {.end_tokens = {7}}));
  run(generation, 3);
  run(generation, 7);
  EXPECT_EQ(generation.stop_reason(), StopReason::end_token);
  EXPECT_FALSE(generation.next());

  ASSERT_TRUE(generation.begin(std::vector<int32_t>{1, 2}, {.max_new_tokens = 2}));
  run(generation, 3);
  run(generation, 3);
  EXPECT_EQ(generation.stop_reason(), StopReason::max_new_tokens);

  ASSERT_TRUE(generation.begin(std::vector<int32_t>{1, 2, 3, 4, 5}, {}));
  run(generation, 3);
  run(generation, 3);
  EXPECT_FALSE(generation.next());
  EXPECT_EQ(generation.stop_reason(), StopReason::length);

  ASSERT_TRUE(generation.begin(std::vector<int32_t>{1}, {}));
  run(generation, 3);
  generation.cancel();
  EXPECT_FALSE(generation.next());
  EXPECT_EQ(generation.stop_reason(), StopReason::cancelled);

  ASSERT_TRUE(generation.begin(std::vector<int32_t>{1}, {.max_new_tokens = 0}));
  EXPECT_FALSE(generation.next());
}

// Feeds of one token each, their results read late.
std::vector<int32_t> ring_with(uint32_t slot, int32_t token) {
  std::vector<int32_t> ring(kRingTokens, 1);
  ring[slot] = token;
  return ring;
}

TEST(Generation, RunsStepsAheadOfTheHost) {
  Generation generation(8, 16, {.steps_ahead = 3});
  ASSERT_TRUE(generation.begin(std::vector<int32_t>{1, 2}, {.end_tokens = {7}}));
  std::vector<Generation::Feed> feeds;
  while (auto feed = generation.next()) feeds.push_back(*feed);
  ASSERT_EQ(feeds.size(), 3u);
  EXPECT_EQ(feeds[0].count, 2u);
  EXPECT_EQ(feeds[1].position, 2u);
  EXPECT_TRUE(feeds[1].tokens.empty()) << "the host does not know it yet";
  EXPECT_EQ(feeds[2].position, 3u);
  EXPECT_EQ(**generation.accept(ring_with(feeds[0].slot, 5), 0), 5);
  EXPECT_EQ(generation.next()->position, 4u);
  // The second token ends the answer: the two steps beyond it are given up, and what they wrote is written again.
  EXPECT_FALSE(*generation.accept(ring_with(feeds[1].slot, 7), 0));
  EXPECT_EQ(generation.stop_reason(), StopReason::end_token);
  EXPECT_EQ(generation.under_way(), 0u);
  ASSERT_TRUE(generation.begin(std::vector<int32_t>{1, 2, 5, 4}, {}));
  EXPECT_EQ(generation.next()->position, 3u);
}

TEST(Generation, KeepsTheGpuBusyAndASoftwareAdapterFree) {
  EXPECT_GT(pace_of(AdapterClass::discrete).steps_ahead, 1u);
  EXPECT_GT(pace_of(AdapterClass::integrated).steps_ahead, 1u);
  EXPECT_EQ(pace_of(AdapterClass::software).steps_ahead, 1u);
  // The ring holds what is not read yet.
  EXPECT_LT(pace_of(AdapterClass::discrete).steps_ahead, kRingTokens);
  // Where a prompt takes long, it runs in pieces between which it can be cancelled.
  EXPECT_EQ(pace_of(AdapterClass::discrete).chunk_seconds, 0);
  for (AdapterClass slow : {AdapterClass::integrated, AdapterClass::software}) {
    EXPECT_GT(pace_of(slow).chunk_seconds, 0);
    EXPECT_LE(pace_of(slow).first_chunk, 128u);
  }
}

TEST(Generation, StaysWithinTheLimitsWhenAhead) {
  Generation generation(8, 4, {.steps_ahead = 4});
  ASSERT_TRUE(generation.begin(std::vector<int32_t>{1, 2}, {}));
  for (size_t position : {0, 2, 3}) EXPECT_EQ(generation.next()->position, position);
  EXPECT_FALSE(generation.next()) << "the cache is full";
  EXPECT_EQ(generation.stop_reason(), StopReason::none) << "three tokens are still to come";
  for (uint32_t slot = 0; slot < 3; ++slot) EXPECT_EQ(**generation.accept(ring_with(slot, 3), 0), 3);
  EXPECT_FALSE(generation.next());
  EXPECT_EQ(generation.stop_reason(), StopReason::length);

  ASSERT_TRUE(generation.begin(std::vector<int32_t>{1, 2}, {.max_new_tokens = 2}));
  EXPECT_TRUE(generation.next());
  EXPECT_TRUE(generation.next());
  EXPECT_FALSE(generation.next()) << "a third token is not wanted";
}

TEST(Generation, DoesNotCountOnFeedsThatWereGivenUp) {
  Generation generation(4, 64, {.steps_ahead = 2});
  const std::vector<int32_t> prompt(12, 1);
  ASSERT_TRUE(generation.begin(prompt, {}));
  generation.next();
  ASSERT_TRUE(generation.accept(ring_with(0, 0), 0));
  generation.next();
  generation.next();
  generation.withdraw();
  EXPECT_EQ(generation.next()->position, 8u) << "the feed that was not submitted comes again";
  generation.cancel();
  ASSERT_TRUE(generation.begin(prompt, {}));
  EXPECT_EQ(generation.next()->position, 4u) << "the cancelled feeds run again";
}

TEST(Generation, SizesTheFeedsOfAPromptByTheirTime) {
  Generation generation(256, 1024, {.first_chunk = 16, .chunk_seconds = 0.4});
  ASSERT_TRUE(generation.begin(std::vector<int32_t>(400, 1), {}));
  EXPECT_EQ(generation.next()->count, 16u);
  ASSERT_TRUE(generation.accept(ring_with(0, 0), 0.2));
  EXPECT_EQ(generation.next()->count, 32u);
  ASSERT_TRUE(generation.accept(ring_with(0, 0), 1.0));
  EXPECT_EQ(generation.next()->count, 8u);
  ASSERT_TRUE(generation.accept(ring_with(0, 0), 0.001));
  EXPECT_EQ(generation.next()->count, 32u) << "at most four times the last one";
}

TEST(Generation, RefusesPromptsThatDoNotFitAndLosesNothing) {
  Generation generation(8, 4);
  ASSERT_TRUE(generation.begin(std::vector<int32_t>{1, 2}, {}));
  run(generation, 3);
  EXPECT_FALSE(generation.begin({}, {}));
  EXPECT_FALSE(generation.begin(std::vector<int32_t>(5, 1), {}));
  EXPECT_THAT(run(generation, 3), ElementsAre(1)) << "the answer that was under way goes on";
}

TEST(Generation, SaysWhenNoLogitIsANumber) {
  Generation generation(8, 8);
  ASSERT_TRUE(generation.begin(std::vector<int32_t>{1}, {}));
  generation.next();
  EXPECT_FALSE(generation.accept(std::vector<float>(8, std::nanf(""))));
}

TEST(Sampler, TakesTheFirstOfEqualLogitsWhenGreedy) {
  Sampler sampler;
  EXPECT_EQ(sampler.sample(std::vector<float>{1, 3, 3, 2}, {}), 1);
  EXPECT_EQ(sampler.sample(std::vector<float>{std::nanf(""), 1}, {}), 1);
}

// How often each of four tokens is chosen in 4,000 draws.
std::vector<int> histogram(const SamplingOptions& options) {
  Sampler sampler;
  const std::vector<float> logits = {std::log(0.4f), std::log(0.3f), std::log(0.2f), std::log(0.1f)};
  std::vector<int> counts(4);
  for (uint64_t i = 0; i < 4000; ++i) ++counts[static_cast<size_t>(sampler.sample(logits, sampling_words(options, i)))];
  return counts;
}

TEST(Sampler, FollowsTheProbabilities) {
  const double expected[] = {0.4, 0.3, 0.2, 0.1};
  const std::vector<int> counts = histogram({.temperature = 1.0f, .seed = 1});
  // Five standard deviations of a binomial count.
  for (size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(counts[i], 4000 * expected[i], 5 * std::sqrt(4000 * expected[i] * (1 - expected[i])));
}

TEST(Sampler, CutsTheTailAsAsked) {
  EXPECT_EQ(histogram({.temperature = 1.0f, .top_k = 2})[2], 0);
  EXPECT_EQ(histogram({.temperature = 1.0f, .top_p = 0.65f})[2], 0);
  EXPECT_GT(histogram({.temperature = 1.0f, .top_p = 0.75f})[2], 0);
  EXPECT_EQ(histogram({.temperature = 1.0f, .min_p = 0.6f})[2], 0);
  EXPECT_GT(histogram({.temperature = 1.0f, .min_p = 0.6f})[1], 0);
  EXPECT_EQ(histogram({.temperature = 0.01f})[0], 4000);
  EXPECT_EQ(histogram({.temperature = 1.0f, .top_p = 0.0f})[0], 4000) << "at least one token is kept";
}

TEST(Sampler, RepeatsWithItsSeed) {
  EXPECT_EQ(histogram({.temperature = 1.0f, .seed = 7}), histogram({.temperature = 1.0f, .seed = 7}));
  EXPECT_NE(histogram({.temperature = 1.0f, .seed = 7}), histogram({.temperature = 1.0f, .seed = 8}));
}

}  // namespace
}  // namespace sconce::runtime
