#include <gtest/gtest.h>

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

TEST(Sha256, MatchesPublishedDigests) {
  auto hash = [](std::string_view text) { return sha256_hex(std::as_bytes(std::span(text))); };
  EXPECT_EQ(hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  for (size_t count : {0, 1, 55, 56, 63, 64, 65, 1000})
    EXPECT_EQ(sha256_hex_of_zeros(count), sha256_hex(std::vector<std::byte>(count))) << count;
}

}  // namespace
}  // namespace sconce
