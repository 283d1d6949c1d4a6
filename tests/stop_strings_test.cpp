#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "text/stop.h"

namespace sconce {
namespace {

using Texts = std::vector<std::string>;

struct Row {
  Texts stops;
  Texts pieces;
  Texts shown;  // one for each piece, and what finish() gives
  bool stopped;
};

TEST(StopStrings, HoldsBackWhatMayBeginAStopString) {
  const Row rows[] = {
      {{}, {"a", "", "b"}, {"a", "", "b", ""}, false},
      {{"STOP"}, {"go STOP on", "more"}, {"go ", "", ""}, true},
      {{"STOP"}, {"go S", "T", "OP on"}, {"go ", "", "", ""}, true},
      {{"STOP"}, {"go S", "T", "ART"}, {"go ", "", "START", ""}, false},
      {{"STOP"}, {"S", "STOP"}, {"", "S", ""}, true},
      {{"STOP"}, {"go ST"}, {"go ", "ST"}, false},
      {{"aab"}, {"aaa", "ab"}, {"a", "a", ""}, true},
      {{"\n\n"}, {"a\n", "b\n", "\nc"}, {"a", "\nb", "", ""}, true},
      {{"bc", "abcd"}, {"xabcd"}, {"x", ""}, true},  // the one that begins first
      {{"bc", "abcd"}, {"xab", "ce"}, {"x", "a", ""}, true},
      {{"é"}, {"caf", "é!"}, {"caf", "", ""}, true},
  };
  for (const Row& row : rows) {
    auto stops = StopStrings::make(row.stops).value();
    Texts shown;
    for (const std::string& piece : row.pieces) shown.push_back(stops.push(piece));
    EXPECT_EQ(stops.stopped(), row.stopped) << row.pieces[0];
    shown.push_back(stops.finish());
    EXPECT_EQ(shown, row.shown) << row.pieces[0];
  }
}

TEST(StopStrings, RefusesAnEmptyOne) {
  auto stops = StopStrings::make({"a", ""});
  ASSERT_FALSE(stops);
  EXPECT_EQ(stops.error().code, ErrorCode::invalid_argument);
}

// However a text is cut into pieces, what is shown is the text before the first stop string.
TEST(StopStrings, DoesNotDependOnThePieces) {
  const std::string text = "abaababab";
  const Texts stop_lists[] = {{"abab"}, {"bab", "aab"}, {"zz"}, {"a"}};
  for (const Texts& list : stop_lists) {
    size_t end = text.size();
    for (const std::string& stop : list) end = std::min(end, text.find(stop));
    for (uint32_t cuts = 0; cuts < 1u << (text.size() - 1); ++cuts) {
      auto stops = StopStrings::make(list).value();
      std::string shown, piece;
      for (size_t i = 0; i < text.size(); ++i) {
        piece += text[i];
        if (cuts >> i & 1 || i + 1 == text.size()) shown += stops.push(std::exchange(piece, {}));
      }
      shown += stops.finish();
      ASSERT_EQ(shown, text.substr(0, end)) << list[0] << " with cuts " << cuts;
    }
  }
}

}  // namespace
}  // namespace sconce
