#include <gtest/gtest.h>

#include "base/math.h"

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

}  // namespace
}  // namespace sconce
