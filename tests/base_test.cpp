#include <gtest/gtest.h>

#include <cmath>

#include "base/half.h"
#include "base/math.h"
#include "base/sha256.h"

namespace sconce {
namespace {

TEST(Shape, RefusesDimsThatNoTensorHas) {
  EXPECT_FALSE(Shape::from(std::vector<int64_t>{1, -1}));
  EXPECT_FALSE(Shape::from(std::vector<int64_t>{int64_t{1} << 32}));
  EXPECT_FALSE(Shape::from(std::vector<int64_t>{0, 1 << 20, 1 << 20})) << "a zero dim must not hide an overflow";
  EXPECT_FALSE(Shape::from(std::vector<int64_t>(9, 1)));
  auto empty = Shape::from(std::vector<int64_t>{3, 0, 5});
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->numel(), 0u);
  EXPECT_EQ(Shape{}.numel(), 1u);
}

TEST(NormalizeDim, FollowsPython) {
  EXPECT_EQ(normalize_dim(-1, 3).value(), 2u);
  EXPECT_EQ(normalize_dim(0, 0).value(), 0u);
  EXPECT_FALSE(normalize_dim(3, 3));
  EXPECT_FALSE(normalize_dim(-4, 3));
}

TEST(Error, TellsWhereItHappened) {
  auto error = Error{ErrorCode::io, "The file ends early.", {}}.within("node 3").within("method forward");
  EXPECT_EQ(error.to_string(), "The file ends early. [in node 3, method forward]");
}

TEST(CheckedEnd, RefusesOverflow) {
  EXPECT_EQ(checked_end(2, 3, "segment").value(), 5u);
  EXPECT_FALSE(checked_end(UINT64_MAX, 1, "segment"));
}

TEST(Half, ConvertsEveryValueBothWays) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float value = half_to_float(static_cast<uint16_t>(bits));
    const uint32_t back = float_to_half(value);
    if (std::isnan(value))
      EXPECT_TRUE((back & 0x7c00) == 0x7c00 && (back & 0x3ff) != 0) << bits;
    else
      EXPECT_EQ(back, bits);
  }
  EXPECT_EQ(half_to_float(0x3555), 0.333251953125f);
  EXPECT_EQ(half_to_float(0x0001), 0x1p-24f);
  EXPECT_EQ(half_to_float(0xfbff), -65504.0f);
}

TEST(Half, RoundsToNearestEven) {
  // Between each pair of neighbours: below the middle, the middle, above it.
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const float low = half_to_float(static_cast<uint16_t>(bits)), high = half_to_float(static_cast<uint16_t>(bits + 1));
    const float middle = low + (high - low) / 2;
    EXPECT_EQ(float_to_half(std::nextafter(middle, low)), bits);
    EXPECT_EQ(float_to_half(middle), bits % 2 ? bits + 1 : bits);
    EXPECT_EQ(float_to_half(std::nextafter(middle, high)), bits + 1);
  }
  EXPECT_EQ(float_to_half(65519.996f), 0x7bff);
  EXPECT_EQ(float_to_half(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_half(-1e10f), 0xfc00);
}

TEST(Sha256, MatchesPublishedDigests) {
  auto hash = [](std::string_view text) { return sha256_hex(std::as_bytes(std::span(text))); };
  EXPECT_EQ(hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  for (size_t count : {0, 1, 55, 56, 63, 64, 65, 1000})
    EXPECT_EQ(sha256_hex_of_zeros(count), sha256_hex(std::vector<std::byte>(count))) << count;
  const std::string text(300, 'x');
  const auto bytes = std::as_bytes(std::span(text));
  for (size_t piece : {1, 7, 63, 64, 65, 128, 299}) {
    Sha256 pieces;
    for (size_t at = 0; at < bytes.size(); at += piece)
      pieces.add(bytes.subspan(at, std::min(piece, bytes.size() - at)));
    EXPECT_EQ(pieces.finish(), sha256_hex(bytes)) << piece;
  }
}

}  // namespace
}  // namespace sconce
