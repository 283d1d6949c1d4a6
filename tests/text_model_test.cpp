// The tokenizer and the chat template of a real model, SmolLM2-135M-Instruct. The model directory is made by the
// project's set-up; SCONCE_MODEL_DIR names another place. Goldens: transformers 5.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "text/model_directory.h"

namespace sconce {
namespace {

using Ids = std::vector<int32_t>;

class SmolLM2 : public testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("SCONCE_MODEL_DIR");
    auto directory = ModelDirectory::open(path ? path : SCONCE_DEFAULT_MODEL_DIR);
    ASSERT_TRUE(directory) << directory.error().to_string()
                           << " This test needs SmolLM2-135M-Instruct: run ./demo once, or set SCONCE_MODEL_DIR.";
    model_.emplace(std::move(*directory));
  }
  std::optional<ModelDirectory> model_;
};

TEST_F(SmolLM2, RendersAndEncodesAChat) {
  const std::vector<Message> question = {{"user", "What is the capital of France?"}};
  EXPECT_EQ(model_->chat_template->render(question, true).value(),
            "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
            "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(
      model_->encode_chat(question).value(),
      (Ids{1, 9690, 198, 2683, 359, 253,  5356, 5646, 11173, 3365, 3511, 308, 34519, 28,  7018, 411, 407,  19712, 8182,
           2, 198,  1,   4093, 198, 1780, 314,  260,  3575,  282,  4649, 47,  2,     198, 1,    520, 9531, 198}));
}

TEST_F(SmolLM2, TakesASystemPromptInsteadOfItsOwn) {
  const std::vector<Message> messages = {{"system", "Be brief."}, {"user", "Hi"}, {"assistant", "Hello"}};
  EXPECT_EQ(model_->chat_template->render(messages, false).value(),
            "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
            "<|im_start|>assistant\nHello<|im_end|>\n");
}

TEST_F(SmolLM2, StopsAtTheEndOfATurn) {
  EXPECT_EQ(model_->tokenizer.vocab_size(), 49152u);
  EXPECT_EQ(model_->tokenizer.token_id("<|im_end|>"), 2);
  const Ids& stops = model_->generation.stop_tokens;
  EXPECT_NE(std::find(stops.begin(), stops.end(), 2), stops.end());
}

TEST_F(SmolLM2, DecodesWhatItEncodes) {
  for (std::string text :
       {"The capital of France is Paris.", "naïve 日本語 👩‍👩‍👧 12345\n\n\tend ", " leading", ""}) {
    Ids ids = model_->tokenizer.encode(text, false).value();
    EXPECT_EQ(model_->tokenizer.decode(ids, false).value(), text);
    StreamDecoder stream(model_->tokenizer);
    std::string streamed;
    for (int32_t id : ids) streamed += stream.push(id).value();
    EXPECT_EQ(streamed + stream.finish().value(), text);
  }
}

}  // namespace
}  // namespace sconce
