#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "text/text.h"
#include "text_fixtures.h"

namespace sconce {
namespace {

using Ids = std::vector<int32_t>;

Tokenizer byte_level() {
  return Tokenizer::load(byte_level_tokenizer().dump()).value();
}
Tokenizer byte_fallback() {
  return Tokenizer::load(byte_fallback_tokenizer().dump()).value();
}

// The pieces of a stream, the last from finish().
std::vector<std::string> pieces_of(const Tokenizer& tokenizer, const Ids& ids, bool skip_special_tokens = true) {
  StreamDecoder stream(tokenizer, skip_special_tokens);
  std::vector<std::string> pieces;
  for (int32_t id : ids) pieces.push_back(stream.push(id).value());
  pieces.push_back(stream.finish().value());
  return pieces;
}

std::string joined(const std::vector<std::string>& pieces) {
  return fmt::format("{}", fmt::join(pieces, ""));
}

TEST(Tokenizer, EncodesByMergesBytesAndSpecialTokens) {
  struct Row {
    const char* text;
    Ids ids;
  };
  const Tokenizer tokenizer = byte_level();
  for (const Row& row : {Row{"", {}},
                         {"hello", {262}},
                         {"hello hello", {262, 263}},
                         {"hel", {259, 3 + 'l'}},
                         {"é", {3 + 0xC3, 3 + 0xA9}},
                         {"😀", {3 + 0xF0, 3 + 0x9F, 3 + 0x98, 3 + 0x80}},
                         {"<|im_start|>hello<|im_end|>", {1, 262, 2}},
                         // Longer than the truncation that the file asks for, which is not applied.
                         {"abcdef", {3 + 'a', 3 + 'b', 3 + 'c', 3 + 'd', 3 + 'e', 3 + 'f'}}}) {
    auto ids = tokenizer.encode(row.text, false);
    ASSERT_TRUE(ids) << ids.error().message;
    EXPECT_EQ(*ids, row.ids) << row.text;
    EXPECT_EQ(tokenizer.decode(row.ids, false).value(), row.text);
  }
}

TEST(Tokenizer, FallsBackToBytesAndAddsTheBeginToken) {
  const Tokenizer tokenizer = byte_fallback();
  EXPECT_EQ(tokenizer.encode("a b", true).value(), (Ids{1, 286, 259, 261}));
  EXPECT_EQ(tokenizer.encode("a b", false).value(), (Ids{286, 259, 261}));
  EXPECT_EQ(tokenizer.encode("é", false).value(), (Ids{259, 3 + 0xC3, 3 + 0xA9}));
  EXPECT_EQ(tokenizer.decode(Ids{1, 286, 259, 261, 3 + 0xC3, 3 + 0xA9}, true).value(), "a bé");
}

TEST(Tokenizer, SkipsSpecialTokensOnRequest) {
  const Tokenizer tokenizer = byte_level();
  EXPECT_EQ(tokenizer.decode(Ids{1, 262, 2}, true).value(), "hello");
  EXPECT_EQ(tokenizer.decode(Ids{1, 262, 2}, false).value(), "<|im_start|>hello<|im_end|>");
  EXPECT_EQ(joined(pieces_of(tokenizer, {1, 262, 2}, false)), "<|im_start|>hello<|im_end|>");
}

TEST(Tokenizer, KnowsItsTokens) {
  const Tokenizer tokenizer = byte_level();
  EXPECT_EQ(tokenizer.vocab_size(), 264u);
  EXPECT_EQ(tokenizer.token_id("<|im_end|>"), 2);
  EXPECT_EQ(tokenizer.token_id("hello"), 262);
  EXPECT_EQ(tokenizer.token_id("absent"), std::nullopt);
  EXPECT_EQ(tokenizer.token_id("\xFF"), std::nullopt);
}

TEST(Tokenizer, RefusesIdsThatNoTokenHas) {
  const Tokenizer tokenizer = byte_level();
  for (int32_t id : {-1, 264, INT32_MAX, INT32_MIN}) {
    auto text = tokenizer.decode(Ids{262, id}, true);
    ASSERT_FALSE(text) << id;
    EXPECT_EQ(text.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(text.error().message.find(fmt::format("no token has the id {}", id)), std::string::npos)
        << text.error().message;
  }
}

TEST(Tokenizer, RefusesTextThatIsNotUtf8) {
  auto ids = byte_level().encode("ab\xFFgh", false);
  ASSERT_FALSE(ids);
  EXPECT_EQ(ids.error().message, "The text of 5 bytes has no token ids: the text is not UTF-8 at byte 2.");
}

TEST(Tokenizer, RefusesBrokenFiles) {
  std::string good = byte_level_tokenizer().dump();
  auto without_model = byte_level_tokenizer();
  without_model.erase("model");
  auto impossible_merge = byte_level_tokenizer();
  impossible_merge["model"]["merges"].push_back({"he", "absent"});
  for (const std::string& bad :
       {std::string(), std::string("{"), std::string("[]"), std::string("\xFF\x00", 2), good.substr(0, good.size() / 2),
        std::string(100000, '['), without_model.dump(), impossible_merge.dump()}) {
    auto tokenizer = Tokenizer::load(bad);
    ASSERT_FALSE(tokenizer) << bad.substr(0, 80);
    EXPECT_EQ(tokenizer.error().code, ErrorCode::corrupt_file);
    EXPECT_TRUE(tokenizer.error().message.starts_with("The tokenizer.json is not usable: "))
        << tokenizer.error().message;
  }
}

TEST(Tokenizer, SurvivesFlippedBytes) {
  const std::string good = byte_level_tokenizer().dump();
  std::mt19937 random(7);
  int loaded = 0;
  for (int i = 0; i < 300; ++i) {
    std::string bad = good;
    bad[random() % bad.size()] ^= static_cast<char>(1 << random() % 8);
    auto tokenizer = Tokenizer::load(bad);
    if (!tokenizer) continue;
    ++loaded;
    auto ids = tokenizer->encode("hello é", true);
    if (ids) {
      EXPECT_TRUE(tokenizer->decode(*ids, false));
    }
  }
  EXPECT_GT(loaded, 0) << "some flips only change a name, so not every file may be refused";
  EXPECT_LT(loaded, 300) << "some flips break the JSON";
}

TEST(StreamDecoder, HoldsACharacterUntilItsLastToken) {
  // F0 9F 98 80 is one emoji.
  EXPECT_EQ(pieces_of(byte_level(), {262, 3 + 0xF0, 3 + 0x9F, 3 + 0x98, 3 + 0x80, 262}),
            (std::vector<std::string>{"hello", "", "", "", "😀", "hello", ""}));
  EXPECT_EQ(pieces_of(byte_fallback(), {286, 3 + 0xF0, 3 + 0x9F, 3 + 0x98, 3 + 0x80, 261}),
            (std::vector<std::string>{"a", "", "", "", "😀", "b", ""}));
}

TEST(StreamDecoder, DropsOnlyTheFirstSpace) {
  EXPECT_EQ(pieces_of(byte_fallback(), {1, 286, 286, 286}), (std::vector<std::string>{"", "a", " a", " a", ""}));
}

TEST(StreamDecoder, KeepsWhatItShowedWhenALaterByteIsInvalid) {
  // The decoder with byte fallback calls the whole run of bytes invalid, including the é that was shown.
  EXPECT_EQ(joined(pieces_of(byte_fallback(), {3 + 0xC3, 3 + 0xA9, 3 + 0xE2, 261})), "é\uFFFDb");
}

TEST(StreamDecoder, GivesTheRestAtTheEndAndStartsAnew) {
  const Tokenizer tokenizer = byte_level();
  StreamDecoder stream(tokenizer);
  EXPECT_EQ(stream.push(3 + 0xF0).value(), "");
  EXPECT_EQ(stream.push(3 + 0x9F).value(), "");
  EXPECT_EQ(stream.finish().value(), "\uFFFD");
  EXPECT_EQ(stream.finish().value(), "");
  EXPECT_EQ(stream.push(262).value(), "hello");
}

TEST(StreamDecoder, GoesOnAfterAnUnknownId) {
  const Tokenizer tokenizer = byte_level();
  StreamDecoder stream(tokenizer);
  EXPECT_EQ(stream.push(3 + 0xC3).value(), "");
  auto text = stream.push(9999);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(stream.push(3 + 0xA9).value(), "é");
}

TEST(StreamDecoder, NeverHoldsWithoutEnd) {
  std::string text;
  const Tokenizer tokenizer = byte_level();
  StreamDecoder stream(tokenizer);
  for (int i = 0; i < 100; ++i) text += stream.push(3 + 0x80).value();
  EXPECT_FALSE(text.empty());
}

TEST(StreamDecoder, OutlivesItsTokenizer) {
  std::optional<Tokenizer> tokenizer = byte_level();
  StreamDecoder stream(*tokenizer);
  tokenizer.reset();
  EXPECT_EQ(stream.push(262).value(), "hello");
}

TEST(StreamDecoder, JoinsToTheWholeTextForAnyIds) {
  const Tokenizer tokenizer = byte_level();
  std::mt19937 random(1);
  for (int sequence = 0; sequence < 100; ++sequence) {
    Ids ids(1 + random() % 60);
    for (int32_t& id : ids) id = static_cast<int32_t>(random() % tokenizer.vocab_size());
    EXPECT_EQ(joined(pieces_of(tokenizer, ids)), tokenizer.decode(ids, true).value())
        << fmt::format("{}", fmt::join(ids, " "));
  }
}

}  // namespace
}  // namespace sconce
