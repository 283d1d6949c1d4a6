// Generation with the token chosen on the GPU and steps submitted ahead of the host, on a small llama with made-up
// weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runtime/sampling.h"
#include "sconce/generator.h"
#include "support/devices.h"

namespace sconce {
namespace {

using testing::ElementsAreArray;

class GeneratorTest : public testing::Test {
 protected:
  void SetUp() override {
    Device* device = test::device();
    ASSERT_NE(device, nullptr);
    auto model = Model::load(*device, SCONCE_FIXTURES "/ops/models/llama.pte", {.warm_up = false});
    ASSERT_TRUE(model) << model.error().to_string();
    model_ = *std::move(model);
  }
  Generator generator(size_t steps_ahead, bool poison = true) {
    auto made = Generator::create(*model_, "forward", {.session = {.poison = poison}, .steps_ahead = steps_ahead});
    if (!made) ADD_FAILURE() << made.error().to_string();
    return *std::move(made);
  }
  std::optional<Model> model_;
};

// All tokens of an answer, or the first `count`.
std::vector<int32_t> answer(Generator& generator, const std::vector<int32_t>& prompt, const GenerationOptions& options,
                            size_t count = SIZE_MAX) {
  std::vector<int32_t> tokens;
  auto begun = generator.begin(prompt, options);
  EXPECT_TRUE(begun) << (begun ? "" : begun.error().to_string());
  while (tokens.size() < count) {
    auto token = generator.next();
    EXPECT_TRUE(token) << (token ? "" : token.error().to_string());
    if (!token || !*token) break;
    tokens.push_back(**token);
  }
  return tokens;
}

TEST_F(GeneratorTest, GivesTheSameTokensHoweverFarAhead) {
  for (const SamplingOptions& sampling :
       {SamplingOptions{}, SamplingOptions{.temperature = 1.0f, .seed = 3},
        SamplingOptions{.temperature = 1.0f, .top_k = 20, .top_p = 0.9f, .seed = 4}}) {
    const GenerationOptions options{.sampling = sampling, .max_new_tokens = 6};
    Generator alone = generator(1), ahead = generator(4);
    const std::vector<int32_t> expected = answer(alone, {1, 2, 3}, options);
    EXPECT_EQ(expected.size(), 6u);
    EXPECT_THAT(answer(ahead, {1, 2, 3}, options), ElementsAreArray(expected));
    EXPECT_EQ(ahead.stop_reason(), StopReason::max_new_tokens);
  }
}

TEST_F(GeneratorTest, BringsTheLogitsThatATokenWasChosenFrom) {
  Generator generator = this->generator(3);
  const SamplingOptions sampling{.temperature = 2.0f, .top_p = 0.8f, .seed = 9};
  ASSERT_TRUE(
      generator.begin(std::vector<int32_t>{5, 6}, {.sampling = sampling, .max_new_tokens = 5, .read_logits = true}));
  runtime::Sampler host;
  for (uint64_t i = 0; i < 5; ++i) {
    auto token = generator.next();
    ASSERT_TRUE(token && *token);
    ASSERT_EQ(generator.logits().size(), generator.vocabulary());
    EXPECT_EQ(**token, host.sample(generator.logits(), runtime::sampling_words(sampling, i)));
  }
}

TEST_F(GeneratorTest, LosesNothingToStepsBeyondTheEnd) {
  const GenerationOptions options{.max_new_tokens = 5};
  Generator fresh = generator(1);
  const std::vector<int32_t> first = answer(fresh, {1, 2, 3}, options);
  std::vector<int32_t> conversation = {1, 2, 3, first[0], first[1], 7, 8};
  Generator other = generator(1);
  const std::vector<int32_t> second = answer(other, conversation, options);

  // Cancelled after two tokens, with steps under way whose rows the next turn writes again.
  Generator chat = generator(4);
  EXPECT_THAT(answer(chat, {1, 2, 3}, options, 2), ElementsAreArray({first[0], first[1]}));
  chat.cancel();
  ASSERT_FALSE(*chat.next());
  EXPECT_EQ(chat.stop_reason(), StopReason::cancelled);
  EXPECT_THAT(answer(chat, conversation, options), ElementsAreArray(second));
  EXPECT_LT(chat.times().prefilled_tokens, conversation.size()) << "the beginning is still cached";

  // Ended by the model, which the host learns late.
  Generator ended = generator(4);
  const auto end = first[2];
  answer(ended, {1, 2, 3}, {.end_tokens = {end}});
  EXPECT_EQ(ended.stop_reason(), StopReason::end_token);
  EXPECT_THAT(answer(ended, conversation, options), ElementsAreArray(second));
  auto guards = ended.session().check_guards();
  EXPECT_TRUE(guards) << guards.error().to_string();
}

TEST_F(GeneratorTest, StopsAtTheEndOfTheCache) {
  Generator generator = this->generator(4, false);
  const size_t room = generator.context_length();
  const std::vector<int32_t> tokens = answer(generator, {1, 2, 3}, {});
  EXPECT_EQ(generator.stop_reason(), StopReason::length);
  EXPECT_EQ(tokens.size(), room - 3 + 1);
}

TEST_F(GeneratorTest, AsksWhetherToGoOnAfterEachRun) {
  Generator generator = this->generator(2);
  ASSERT_TRUE(generator.begin(std::vector<int32_t>{1, 2}, {}));
  auto token = generator.next([] { return false; });
  ASSERT_TRUE(token && *token) << "the run that was under way still gives its token";
  EXPECT_FALSE(*generator.next());
  EXPECT_EQ(generator.stop_reason(), StopReason::cancelled);
}

TEST(FilledWeights, GiveFiniteLogitsFromAStrippedProgram) {
  Device* device = test::device();
  ASSERT_NE(device, nullptr);
  auto model = Model::load(*device, SCONCE_FIXTURES "/ops/models/llama.pte", {.warm_up = false, .fill_weights = true});
  ASSERT_TRUE(model) << model.error().to_string();
  auto generator = Generator::create(*model);
  ASSERT_TRUE(generator) << generator.error().to_string();
  EXPECT_EQ(answer(*generator, {1, 2, 3}, {.max_new_tokens = 4, .read_logits = true}).size(), 4u);
  EXPECT_TRUE(std::ranges::all_of(generator->logits(), [](float logit) { return std::isfinite(logit); }));
  EXPECT_NE(std::ranges::min(generator->logits()), std::ranges::max(generator->logits()));
}

}  // namespace
}  // namespace sconce
