// Plan functions as data: live output shapes, errors with their numbers, and which kernels run. What kernels compute is
// tested on the GPU.
#include "plan_case.h"

#include "ops/shared/strides.h"

namespace sconce::ops {
namespace {

using graph::Value;

Shape planned(PlanCase& c, size_t i = 0) {
  Result<void> result = c.run();
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return result ? c.plan.output_shapes()[i] : Shape{};
}

#define EXPECT_ERROR(plan_case, part) \
  EXPECT_NE((plan_case).error().find(part), std::string::npos) << (plan_case).error()

TEST(StridedBox, MergesDimsThatAllOperandsWalkAsOne) {
  StridedBox box;
  box.add(2, 12, 12);
  box.add(1, 5, 7);  // vanishes
  box.add(3, 4, 4);
  box.add(4, 1, 1);
  EXPECT_EQ(box.rank(), 1u);
  EXPECT_TRUE(box.contiguous());
  EXPECT_EQ(box.numel(), 24u);
  StridedBox transposed;
  transposed.add(4, 1, 3);
  transposed.add(3, 4, 1);
  EXPECT_EQ(transposed.rank(), 2u);
  EXPECT_FALSE(transposed.contiguous());
}

TEST(StridedBox, WidensOnlyWhenEverythingDivides) {
  auto widened = [](int64_t inner, int64_t outer_stride, int64_t offset) {
    StridedBox box;
    box.add(3, outer_stride, inner);
    box.add(inner, 1, 1);
    std::array<int64_t, 2> offsets = {offset, 0};
    return box.widen(4, offsets);
  };
  EXPECT_TRUE(widened(8, 16, 4));
  EXPECT_FALSE(widened(6, 16, 4));
  EXPECT_FALSE(widened(8, 18, 4));
  EXPECT_FALSE(widened(8, 16, 2));
}

TEST(Elementwise, BroadcastsLiveShapes) {
  PlanCase c("aten.mul.Tensor");
  c.live_tensor({1, 128, 64}, {1, 7, 64}).live_tensor({128, 1}, {7, 1}).tensor({1, 128, 64});
  EXPECT_EQ(planned(c), (Shape{1, 7, 64}));
  EXPECT_EQ(c.kernels(), "binary<op=mul, Elem=f32, form=broadcast>");
  PlanCase bad("aten.add.Tensor");
  bad.tensor({3, 4}).tensor({5}).null().tensor({3, 4});
  EXPECT_ERROR(bad, "Shapes [3, 4] and [5] do not broadcast: 4 and 5");
}

TEST(Elementwise, TakesNumbersOfEitherKindForTensors) {
  for (Value number : {Value(int64_t{3}), Value(3.0)}) {
    PlanCase c("aten.add.Tensor");
    c.tensor({5}, Dtype::i64).value(number).value(int64_t{2}).tensor({5}, Dtype::i64);
    EXPECT_EQ(planned(c), (Shape{5}));
    EXPECT_EQ(c.kernels(), "binary<op=add, Elem=i32, form=scalar_right>");
  }
}

TEST(Elementwise, PromotesToTheOutputsType) {
  PlanCase c("aten.div.Tensor");
  c.tensor({5}, Dtype::i32).tensor({5}, Dtype::i32).tensor({5});
  EXPECT_EQ(planned(c), (Shape{5}));
  EXPECT_EQ(c.kernels(),
            "convert<have=i32, want=f32> convert<have=i32, want=f32> binary<op=div, Elem=f32, form=dense>");
}

TEST(Elementwise, DispatchesNothingForNoElements) {
  PlanCase c("aten.exp.default");
  c.live_tensor({8, 4}, {0, 4}).tensor({8, 4});
  EXPECT_EQ(planned(c), (Shape{0, 4}));
  EXPECT_TRUE(c.plan.commands().empty());
}

TEST(Elementwise, FoldsGridsOfDevicesWithSmallLimits) {
  PlanCase c("aten.abs.default");
  c.capabilities.max_workgroups_per_dimension = 8;
  c.tensor({100, 1024}).tensor({100, 1024});
  planned(c);
  const auto& grid = c.plan.commands()[0].grid;
  EXPECT_GE(grid[0] * grid[1] * grid[2], 100u);
  for (uint32_t size : grid) EXPECT_LE(size, 8u);
}

TEST(Elementwise, KeepsOneTypesBytesAndConvertsOthers) {
  PlanCase same("aten._to_copy.default");
  same.tensor({5}, Dtype::i64).tensor({5}, Dtype::i32);
  planned(same);
  EXPECT_EQ(same.kernels(), "copy");
  PlanCase other("aten._to_copy.default");
  other.tensor({5}, Dtype::boolean).tensor({5});
  planned(other);
  EXPECT_EQ(other.kernels(), "convert<have=boolean, want=f32>");
}

TEST(Movement, ViewFollowsItsSizeList) {
  struct Row {
    std::vector<int64_t> sizes;
    Shape bound, live;
  };
  for (const Row& row : {Row{{2, -1, 8, 8}, {2, 512, 8, 8}, {2, 256, 8, 8}}, Row{{-1, 64}, {1024, 64}, {512, 64}},
                         Row{{2, 256, 64}, {2, 512, 64}, {2, 256, 64}}}) {
    PlanCase c("aten.view_copy.default");
    c.live_tensor({2, 512, 64}, {2, 256, 64}).ints(row.sizes).tensor(row.bound);
    EXPECT_EQ(planned(c), row.live);
  }
  PlanCase symbolic("aten.view_copy.default");
  symbolic.live_tensor({1, 128, 64}, {1, 7, 64}).symint(7).value(int64_t{64}).list(2).tensor({128, 64});
  EXPECT_EQ(planned(symbolic), (Shape{7, 64}));
  PlanCase frozen("aten.view_copy.default");
  frozen.live_tensor({1, 128, 64}, {1, 7, 64}).ints({128, 64}).tensor({128, 64});
  EXPECT_ERROR(frozen, "448 elements into shape [128, 64], which holds 8192");
}

TEST(Movement, SqueezeGoesByTheBound) {
  PlanCase c("aten.squeeze_copy.dims");
  c.live_tensor({1, 128, 1, 4}, {1, 1, 1, 4}).ints({0, 1, 2}).tensor({128, 4});
  EXPECT_EQ(planned(c), (Shape{1, 4}));
}

TEST(Movement, SliceClampsAsPythonDoes) {
  struct Row {
    int64_t start, end, step, length;
  };
  for (const Row& row : {Row{1, 5, 1, 4}, Row{0, INT64_MAX, 1, 8}, Row{-3, 100, 1, 3}, Row{5, 2, 1, 0}, Row{0, 8, 3, 3},
                         Row{-100, -1, 2, 4}, Row{8, 9, 1, 0}}) {
    PlanCase c("aten.slice_copy.Tensor");
    c.live_tensor({12, 4}, {8, 4}).value(0.0).value(row.start).value(row.end).value(row.step).tensor({12, 4});
    EXPECT_EQ(planned(c), (Shape{row.length, 4})) << row.start << ":" << row.end << ":" << row.step;
  }
  PlanCase rope("aten.slice_copy.Tensor");
  rope.tensor({512, 32}).value(int64_t{0}).symint(100).symint(107).value(int64_t{1}).tensor({512, 32});
  EXPECT_EQ(planned(rope), (Shape{7, 32}));
  EXPECT_EQ(rope.kernels(), "copy");
  EXPECT_EQ(rope.plan.commands()[0].from_offset, 100u * 32 * 4);
  PlanCase bad("aten.slice_copy.Tensor");
  bad.tensor({8}).value(int64_t{0}).null().null().value(int64_t{0}).tensor({8});
  EXPECT_ERROR(bad, "step of 0");
}

TEST(Movement, SelectResolvesNegativeIndicesAtTheLiveShape) {
  PlanCase c("aten.select_copy.int");
  c.live_tensor({1, 128, 64}, {1, 7, 64}).value(1.0).value(int64_t{-1}).tensor({1, 64});
  EXPECT_EQ(planned(c), (Shape{1, 64}));
  EXPECT_EQ(c.plan.commands()[0].from_offset, 6u * 64 * 4);
  PlanCase bad("aten.select_copy.int");
  bad.live_tensor({1, 128, 64}, {1, 7, 64}).value(int64_t{1}).value(int64_t{7}).tensor({1, 64});
  EXPECT_ERROR(bad, "Index 7 is outside dim 1 of shape [1, 7, 64]");
}

TEST(Movement, CatSumsLiveSizesAndSkipsEmptyTensors) {
  PlanCase c("aten.cat.default");
  c.live_tensor({8, 4}, {3, 4})
      .live_tensor({8, 4}, {0, 4})
      .tensor({0})
      .tensor({2, 4})
      .list(4)
      .value(int64_t{0})
      .tensor({18, 4});
  EXPECT_EQ(planned(c), (Shape{5, 4}));
  EXPECT_EQ(c.kernels(), "copy copy");
  PlanCase bad("aten.cat.default");
  bad.tensor({3, 4}).tensor({3, 5}).list(2).value(int64_t{0}).tensor({6, 4});
  EXPECT_ERROR(bad, "Shapes [3, 4] and [3, 5] differ outside dim 0");
}

TEST(Movement, CopiesWideUnitsWhereElementsLieSideBySide) {
  PlanCase wide("aten.permute_copy.default");
  wide.tensor({1, 8, 4, 16}).ints({0, 2, 1, 3}).tensor({1, 4, 8, 16});
  planned(wide);
  EXPECT_EQ(wide.kernels(), "strided_copy<Unit=vec4u>");
  PlanCase narrow("aten.permute_copy.default");
  narrow.tensor({3, 5}).ints({1, 0}).tensor({5, 3});
  planned(narrow);
  EXPECT_EQ(narrow.kernels(), "strided_copy<Unit=u32>");
  PlanCase bytes("aten.permute_copy.default");
  bytes.tensor({3, 5}, Dtype::boolean).ints({1, 0}).tensor({5, 3}, Dtype::boolean);
  planned(bytes);
  EXPECT_EQ(bytes.kernels(), "strided_copy_bytes");
}

TEST(Movement, SplitMustUseTheWholeDim) {
  PlanCase c("aten.split_with_sizes_copy.default");
  c.live_tensor({16, 4}, {8, 4}).ints({3, 4}).value(int64_t{0}).tensor({16, 4}).tensor({16, 4}).list(2);
  EXPECT_ERROR(c, "sum to 7");
}

TEST(Movement, RefusesToPassTheOutputsBound) {
  PlanCase c("aten.repeat.default");
  c.tensor({3}).ints({5}).tensor({12});
  EXPECT_ERROR(c, "[15]");
}

TEST(Reduce, TakesKeepdimOfEitherKindAndAnyDims) {
  struct Row {
    std::vector<int64_t> dims;
    Value keepdim;
    Shape bound, live;
  };
  for (const Row& row :
       {Row{{-1}, true, {2, 128, 1}, {2, 7, 1}}, Row{{-1}, int64_t{1}, {2, 128, 1}, {2, 7, 1}},
        Row{{0, 2}, false, {128}, {7}}, Row{{}, false, {}, {}}, Row{{1}, true, {2, 1, 64}, {2, 1, 64}}}) {
    PlanCase c("aten.mean.dim");
    c.live_tensor({2, 128, 64}, {2, 7, 64}).ints(row.dims).value(row.keepdim).null().tensor(row.bound);
    EXPECT_EQ(planned(c), row.live);
    EXPECT_EQ(c.plan.commands().size(), 1u);
  }
}

TEST(Reduce, NothingSumsToZeroAndHasNoMaximum) {
  PlanCase sum("aten.sum.dim_IntList");
  sum.live_tensor({4, 8}, {4, 0}).ints({1}).value(false).null().tensor({4});
  EXPECT_EQ(planned(sum), (Shape{4}));
  EXPECT_EQ(sum.kernels(), "fill<Elem=i32>");
  PlanCase largest("aten.amax.default");
  largest.live_tensor({4, 8}, {4, 0}).ints({1}).value(false).tensor({4});
  EXPECT_ERROR(largest, "aten.amax.default of no elements is undefined; its input has shape [4, 0]");
  PlanCase none("aten.amax.default");
  none.live_tensor({4, 8}, {0, 8}).ints({1}).value(false).tensor({4});
  EXPECT_EQ(planned(none), (Shape{0}));
  EXPECT_TRUE(none.plan.commands().empty());
}

TEST(Reduce, SharesLongLinesAmongAWorkgroupExceptOnSoftware) {
  auto lanes = [](record::AdapterClass adapter_class, Shape shape) {
    PlanCase c("aten._softmax.default");
    c.capabilities.adapter_class = adapter_class;
    c.tensor(shape).value(int64_t{-1}).value(false).tensor(shape);
    planned(c);
    return c.kernels();
  };
  EXPECT_EQ(lanes(record::AdapterClass::discrete, {32, 1024}), "softmax<logarithm=false, lanes=64>");
  EXPECT_EQ(lanes(record::AdapterClass::software, {32, 1024}), "softmax<logarithm=false, lanes=1>");
  EXPECT_EQ(lanes(record::AdapterClass::discrete, {1024, 8}), "softmax<logarithm=false, lanes=1>");
}

TEST(Norm, ChecksTheNormalizedShape) {
  PlanCase c("aten.native_layer_norm.default");
  c.live_tensor({4, 128, 8}, {4, 7, 8}).ints({8}).null().null().value(1e-5).tensor({4, 128, 8}).tensor({4, 128, 1});
  c.tensor({4, 128, 1}).list(3);
  EXPECT_EQ(planned(c, 0), (Shape{4, 7, 8}));
  EXPECT_EQ(planned(c, 2), (Shape{4, 7, 1}));
  PlanCase bad("aten.native_layer_norm.default");
  bad.live_tensor({4, 128, 8}, {4, 7, 8})
      .ints({128, 8})
      .null()
      .null()
      .value(1e-5)
      .tensor({4, 128, 8})
      .tensor({4, 1, 1});
  bad.tensor({4, 1, 1}).list(3);
  EXPECT_ERROR(bad, "A layer norm over [128, 8] does not go with shape [4, 7, 8]");
  PlanCase weight("et_vk.rms_norm.default");
  weight.tensor({4, 8}).tensor({7}).value(1e-5).tensor({4, 8});
  EXPECT_ERROR(weight, "The weight has shape [7] but the rows have 8 elements");
}

TEST(SymInt, FollowsPython) {
  struct Row {
    const char* op;
    int64_t a, b, result;
  };
  for (const Row& row : {Row{"add", 3, 4, 7}, Row{"sub", 3, 4, -1}, Row{"mul", -3, 4, -12}, Row{"floordiv", 7, 2, 3},
                         Row{"floordiv", -7, 2, -4}, Row{"floordiv", 7, -2, -4}, Row{"floordiv", -8, 2, -4},
                         Row{"mod", -7, 2, 1}, Row{"mod", 7, -2, -1}, Row{"lt", 1, 2, 1}, Row{"ge", 1, 2, 0},
                         Row{"sym_max", 1, 2, 2}, Row{"sym_min", 1, 2, 1}, Row{"ne", 1, 2, 1}, Row{"ne", 2, 2, 0}}) {
    PlanCase c(row.op);
    c.symint(row.a).value(row.b).symint(0);
    ASSERT_TRUE(c.run()) << row.op;
    EXPECT_EQ(c.plan.symint_value(), row.result) << row.op << " " << row.a << " " << row.b;
  }
}

TEST(SymInt, RefusesZeroDivisorsAndOverflow) {
  PlanCase zero("floordiv");
  zero.symint(7).symint(0).symint(0);
  EXPECT_ERROR(zero, "floordiv divides 7 by zero");
  PlanCase large("mul");
  large.symint(1 << 20).symint(1 << 20).symint(0);
  EXPECT_ERROR(large, "mul gives 1099511627776");
  PlanCase edge("floordiv");
  edge.symint(INT32_MIN).symint(-1).symint(0);
  EXPECT_ERROR(edge, "2147483648");
}

TEST(SymInt, ReadsLiveDimsAndHostTensors) {
  PlanCase size("sym_size.int");
  size.live_tensor({1, 128, 64}, {1, 7, 64}).value(int64_t{-2}).symint(0);
  ASSERT_TRUE(size.run());
  EXPECT_EQ(size.plan.symint_value(), 7);
  PlanCase position("et_vk.select_as_symint.default");
  position.tensor({3}, Dtype::i64).value(int64_t{0}).value(int64_t{-1}).symint(0).known({5, 6, 9});
  ASSERT_TRUE(position.run());
  EXPECT_EQ(position.plan.symint_value(), 9);
  PlanCase unknown("aten._local_scalar_dense.default");
  unknown.tensor({1}, Dtype::i64).symint(0);
  ASSERT_TRUE(unknown.run());
  EXPECT_FALSE(unknown.plan.symint_value());
  EXPECT_EQ(unknown.plan.host_wait(), 0u);
}

}  // namespace
}  // namespace sconce::ops
