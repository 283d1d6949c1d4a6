// Packed constants: which parts there are, what they are made of, and the Step that loads them.
#include "planner/constants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels.h"
#include "record/check.h"

namespace sconce::planner {
namespace {

using ops::Packing;
using ::testing::HasSubstr;

graph::TensorValue constant(Shape shape, std::string key, Dtype dtype = Dtype::f32, uint64_t offset = 0) {
  program::Constant constant;
  constant.key = std::move(key);
  constant.range = {0, offset, shape.numel() * size_of(dtype)};
  return {dtype, shape, std::move(constant), false};
}

// "from+rows>to" of each constant in a part.
std::string sources(const PackedPart& part) {
  std::string text;
  for (const PackedSource& source : part.sources)
    text += fmt::format("{}{}+{}>{}", text.empty() ? "" : " ", source.first_row, source.rows, source.to_row);
  return text;
}

void expect_loads(ConstantTable& table, const record::Capabilities& device) {
  record::Tables tables;
  auto step = table.plan_load(tables);
  ASSERT_TRUE(step) << step.error().to_string();
  record::CheckExecutor checker(device, kernels::all());
  auto checked = checker.check(tables, *step, record::StepKind::load);
  EXPECT_TRUE(checked) << checked.error().to_string();
}

TEST(ConstantTable, PutsTheRowsOfSeveralConstantsIntoOneBuffer) {
  const record::Capabilities device;
  ConstantTable table(device);
  const auto a = constant({96, 32}, "a", Dtype::u8), b = constant({30, 32}, "b", Dtype::u8);
  const graph::TensorValue* both[] = {&a, &b};
  auto parts = table.request(both, Packing::q4_blocks);
  ASSERT_TRUE(parts) << parts.error().to_string();
  ASSERT_EQ(parts->size(), 1u);
  EXPECT_EQ((*parts)[0].rows, 126u);
  EXPECT_EQ((*parts)[0].data.bytes, 126u * 32);
  EXPECT_EQ(sources(table.parts()[0]), "0+96>0 0+30>96");
  expect_loads(table, device);
}

TEST(ConstantTable, TakesTheColumnsOfScalesAsRows) {
  const record::Capabilities device;
  ConstantTable table(device);
  const auto a = constant({2, 96}, "a"), b = constant({2, 32}, "b"), single = constant({48}, "c");
  const graph::TensorValue *both[] = {&a, &b}, *one[] = {&single};
  auto parts = table.request(both, Packing::columns);
  ASSERT_TRUE(parts) << parts.error().to_string();
  EXPECT_EQ((*parts)[0].rows, 128u);
  EXPECT_EQ((*parts)[0].data.bytes, 2u * 128 * 4);
  parts = table.request(one, Packing::columns);
  ASSERT_TRUE(parts) << parts.error().to_string();
  EXPECT_EQ((*parts)[0].data.bytes, 48u * 4);
  expect_loads(table, device);
}

TEST(ConstantTable, SplitsWhatPassesTheBindingLimitAlsoWithinAConstant) {
  record::Capabilities device;
  device.max_storage_binding_bytes = 4096;  // 128 rows of 32 bytes
  ConstantTable table(device);
  const auto a = constant({160, 32}, "a", Dtype::u8), b = constant({100, 32}, "b", Dtype::u8, 160 * 32);
  const graph::TensorValue* both[] = {&a, &b};
  auto parts = table.request(both, Packing::q4_blocks);
  ASSERT_TRUE(parts) << parts.error().to_string();
  ASSERT_EQ(parts->size(), 3u);
  EXPECT_EQ(sources(table.parts()[0]), "0+128>0");
  EXPECT_EQ(sources(table.parts()[1]), "128+32>0 0+96>32");
  EXPECT_EQ(sources(table.parts()[2]), "96+4>0");
  EXPECT_EQ((*parts)[2].first_row, 256u);
  expect_loads(table, device);
}

TEST(ConstantTable, SharesEqualRequestsOnly) {
  ConstantTable table({});
  const auto a = constant({64, 32}, "a", Dtype::u8), same = constant({64, 32}, "a", Dtype::u8);
  const auto b = constant({64, 32}, "b", Dtype::u8);
  const graph::TensorValue *one[] = {&a}, *again[] = {&same}, *both[] = {&a, &b}, *turned[] = {&b, &a};
  const uint32_t first = (*table.request(one, Packing::q4_blocks))[0].data.id;
  EXPECT_EQ((*table.request(again, Packing::q4_blocks))[0].data.id, first);
  EXPECT_NE((*table.request(one, Packing::raw))[0].data.id, first);
  EXPECT_NE((*table.request(one, Packing::q4_blocks_high_first))[0].data.id, first);
  const uint32_t joined = (*table.request(both, Packing::q4_blocks))[0].data.id;
  EXPECT_NE(joined, first);
  EXPECT_NE((*table.request(turned, Packing::q4_blocks))[0].data.id, joined);
  EXPECT_EQ((*table.request(both, Packing::q4_blocks))[0].data.id, joined);
}

TEST(ConstantTable, RefusesMoreThanADeviceHoldsInABuffer) {
  record::Capabilities device;
  device.max_buffer_bytes = 1024;
  ConstantTable table(device);
  const auto a = constant({64, 32}, "a", Dtype::u8);
  const graph::TensorValue* one[] = {&a};
  auto parts = table.request(one, Packing::q4_blocks);
  ASSERT_FALSE(parts);
  EXPECT_THAT(parts.error().message, HasSubstr("takes 2048 bytes, but this device allows 1024 a buffer"));
}

}  // namespace
}  // namespace sconce::planner
