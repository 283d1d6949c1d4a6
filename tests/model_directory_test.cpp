#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "text/model_directory.h"
#include "text_fixtures.h"

namespace sconce {
namespace {

using Ids = std::vector<int32_t>;
constexpr const char* kTemplate =
    "{% for m in messages %}{{ bos_token + m.role + eos_token + m.content }}{% endfor %}"
    "{% if add_generation_prompt %}{{ bos_token }}{% endif %}";

// A directory of its own for each test, with a good tokenizer.json.
class ModelDirectoryTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(path_);
    write("tokenizer.json", byte_level_tokenizer().dump());
  }
  void TearDown() override { std::filesystem::remove_all(path_); }

  void write(const char* name, std::string_view text) { std::ofstream(path_ / name, std::ios::binary) << text; }
  Result<ModelDirectory> open() { return ModelDirectory::open(path_); }

  // Opening fails with this code, and the error names `word`.
  void expect_error(ErrorCode code, const char* word) {
    auto directory = open();
    ASSERT_FALSE(directory);
    EXPECT_EQ(directory.error().code, code);
    EXPECT_NE(directory.error().to_string().find(word), std::string::npos) << directory.error().to_string();
  }

  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() /
      fmt::format("sconce-{}-{}", testing::UnitTest::GetInstance()->current_test_info()->name(), ::getpid());
};

TEST_F(ModelDirectoryTest, NeedsOnlyTheTokenizer) {
  auto directory = open();
  ASSERT_TRUE(directory) << directory.error().to_string();
  EXPECT_EQ(directory->tokenizer.encode("hello", true).value(), Ids{262});
  EXPECT_TRUE(directory->generation.stop_tokens.empty());
  EXPECT_EQ(directory->generation.temperature, std::nullopt);
  EXPECT_EQ(directory->program(), path_ / "model.pte");
  auto ids = directory->encode_chat({});
  ASSERT_FALSE(ids);
  EXPECT_EQ(ids.error().code, ErrorCode::not_found);
  EXPECT_NE(ids.error().message.find("no chat template"), std::string::npos);
}

TEST_F(ModelDirectoryTest, ReadsTheDefaultsOfGeneration) {
  write("tokenizer_config.json", R"({"eos_token": {"content": "<|im_end|>", "special": true}, "add_bos_token": true})");
  write("generation_config.json", R"({"eos_token_id": [2, 0], "do_sample": true, "temperature": 0.5, "top_k": 40,
                                      "top_p": 1, "min_p": null, "max_new_tokens": 100, "unknown": {}})");
  auto directory = open();
  ASSERT_TRUE(directory) << directory.error().to_string();
  const GenerationDefaults& generation = directory->generation;
  EXPECT_EQ(generation.stop_tokens, (Ids{0, 2}));
  EXPECT_EQ(generation.do_sample, true);
  EXPECT_EQ(generation.temperature, 0.5);
  EXPECT_EQ(generation.top_k, 40);
  EXPECT_EQ(generation.top_p, 1.0);
  EXPECT_EQ(generation.min_p, std::nullopt);
  EXPECT_EQ(generation.max_new_tokens, 100);
}

TEST_F(ModelDirectoryTest, TakesTheStopTokenFromEitherFile) {
  write("tokenizer_config.json", R"({"eos_token": "<|im_end|>"})");
  EXPECT_EQ(open().value().generation.stop_tokens, Ids{2});
  write("generation_config.json", R"({"eos_token_id": 0})");
  EXPECT_EQ(open().value().generation.stop_tokens, (Ids{0, 2}));
}

TEST_F(ModelDirectoryTest, FindsTheChatTemplate) {
  const std::vector<Message> messages = {{"hello", "hello"}};
  const Ids ids = {1, 262, 2, 262, 1};
  const std::string tokens = R"("bos_token": "<|im_start|>", "eos_token": {"content": "<|im_end|>"})";
  const std::string quoted = nlohmann::json(kTemplate).dump();

  write("tokenizer_config.json", "{" + tokens + R"(, "chat_template": )" + quoted + "}");
  EXPECT_EQ(open().value().encode_chat(messages).value(), ids);

  write("tokenizer_config.json", "{" + tokens + R"(, "chat_template": [{"name": "tool_use", "template": "x"}, 3,
                                  {"name": "default", "template": )" +
                                     quoted + "}]}");
  EXPECT_EQ(open().value().encode_chat(messages).value(), ids);

  write("tokenizer_config.json", "{" + tokens + R"(, "chat_template": "x"})");
  write("chat_template.jinja", kTemplate);
  EXPECT_EQ(open().value().encode_chat(messages).value(), ids) << "the .jinja file goes first";
}

TEST_F(ModelDirectoryTest, SaysWhatIsMissing) {
  std::filesystem::remove(path_ / "tokenizer.json");
  expect_error(ErrorCode::not_found, path_.c_str());
  expect_error(ErrorCode::not_found, "tokenizer.json");
  std::filesystem::create_directory(path_ / "tokenizer.json");
  expect_error(ErrorCode::io, "tokenizer.json");
  std::filesystem::remove_all(path_);
  expect_error(ErrorCode::not_found, "does not exist");
}

TEST_F(ModelDirectoryTest, NamesTheFileThatIsBroken) {
  struct Row {
    const char* file;
    std::string text;
    const char* word;
  };
  const Row rows[] = {
      {"generation_config.json", "{", "no JSON object"},
      {"generation_config.json", "[1]", "no JSON object"},
      {"generation_config.json", R"({"temperature": "hot"})", "temperature is \"hot\""},
      {"generation_config.json", R"({"temperature": -1})", "temperature is -1"},
      {"generation_config.json", R"({"top_p": 1.5})", "top_p is 1.5"},
      {"generation_config.json", R"({"top_k": 1.5})", "top_k is 1.5"},
      {"generation_config.json", R"({"top_k": 18446744073709551615})", "top_k is 18446744073709551615"},
      {"generation_config.json", R"({"do_sample": 1})", "do_sample is 1"},
      {"generation_config.json", R"({"eos_token_id": [1, -1]})", "eos_token_id is -1"},
      {"generation_config.json", R"({"eos_token_id": "2"})", "eos_token_id is \"2\""},
      {"generation_config.json", R"({"top_k": )" + std::string(50000, '[') + std::string(50000, ']') + "}", "deep"},
      {"tokenizer_config.json", "", "no JSON object"},
      {"tokenizer_config.json", R"({"eos_token": "<absent>"})", "<absent>"},
      {"tokenizer_config.json", R"({"chat_template": "{% if %}"})", "chat template"},
      {"chat_template.jinja", "{% endfor %}", "chat template"},
      {"tokenizer.json", "{}", "tokenizer.json"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.text.substr(0, 60));
    write(row.file, row.text);
    expect_error(ErrorCode::corrupt_file, row.word);
    expect_error(ErrorCode::corrupt_file, row.file);
    std::filesystem::remove(path_ / row.file);
    write("tokenizer.json", byte_level_tokenizer().dump());
  }
}

}  // namespace
}  // namespace sconce
