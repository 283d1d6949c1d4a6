// Linears, matrix products and embeddings as plans: routes, parts, live shapes, and errors with their numbers.
#include "ops/packing.h"
#include "plan_case.h"

namespace sconce::ops {
namespace {

using graph::Value;
using record::AdapterClass;

#define EXPECT_ERROR(plan_case, part) \
  EXPECT_NE((plan_case).error().find(part), std::string::npos) << (plan_case).error()

// et_vk.linear_q4gsw of x [1, m, k] with a weight of n rows, whose bytes are padded as the exporter pads them.
PlanCase q4_linear(int64_t m, int64_t k, int64_t n, int64_t group, std::vector<uint32_t> parts = {}) {
  PlanCase c("et_vk.linear_q4gsw.default");
  c.live_tensor({1, 128, k}, {1, m, k});
  c.constant({n, (k + 7) / 8 * 4}, Dtype::u8, std::move(parts));
  const int64_t padded = (n + 3) / 4 * 4;
  c.constant({(k + group - 1) / group, padded}, Dtype::f32, {static_cast<uint32_t>(padded)});
  c.value(group).null().tensor({1, 128, n});
  return c;
}

TEST(Q4Linear, ChoosesARouteByRowsAndDevice) {
  struct Row {
    int64_t m;
    AdapterClass adapter;
    bool subgroups;
    uint32_t subgroup_size;
    const char* kernel;
    uint64_t workgroups;
  };
  constexpr auto kGpu = AdapterClass::discrete, kCpu = AdapterClass::software;
  for (const Row& row : {
           Row{1, kGpu, true, 32, "q4_linear_subgroups<columns=4, owned=2, form=plain>", 9},
           Row{8, kGpu, false, 4, "q4_linear_gemv<whole_blocks=true, form=plain>", 40},
           Row{9, kGpu, true, 32, "q4_linear_tile<whole_blocks=true>", 2},
           Row{128, kGpu, true, 32, "q4_linear_tile<whole_blocks=true>", 4},
           Row{1, kCpu, true, 8, "q4_linear_lanes<tokens=1, width=8, whole_blocks=true, form=plain>", 3},
           Row{2, kCpu, true, 4, "q4_linear_lanes<tokens=8, width=4, whole_blocks=true, form=plain>", 3},
           Row{3, kCpu, true, 8, "q4_linear_lanes<tokens=8, width=8, whole_blocks=true, form=plain>", 3},
           Row{128, kCpu, true, 8, "q4_linear_lanes<tokens=8, width=8, whole_blocks=true, form=plain>", 48},
           Row{1, kCpu, false, 4, "q4_linear_gemv<whole_blocks=true, form=plain>", 5},
       }) {
    PlanCase c = q4_linear(row.m, 64, 70, 32);
    c.capabilities.adapter_class = row.adapter;
    c.capabilities.subgroups = row.subgroups;
    c.capabilities.subgroup_min_size = row.subgroup_size;
    c.capabilities.max_workgroup_storage_bytes = 32768;
    ASSERT_TRUE(c.run()) << c.error();
    EXPECT_EQ(c.plan.output_shapes()[0], (Shape{1, row.m, 70}));
    EXPECT_EQ(c.kernels(), row.kernel);
    EXPECT_EQ(c.workgroups(), std::vector{row.workgroups}) << row.m << " rows";
    EXPECT_EQ(c.packings, (std::vector{Packing::q4_blocks, Packing::columns}));
  }
}

TEST(Q4Linear, DispatchesNothingForNoRows) {
  PlanCase c = q4_linear(0, 64, 70, 32);
  ASSERT_TRUE(c.run()) << c.error();
  EXPECT_EQ(c.plan.output_shapes()[0], (Shape{1, 0, 70}));
  EXPECT_EQ(c.kernels(), "");
}

TEST(Q4Linear, ScalesWholeBlocksWhereGroupsAllowIt) {
  for (int64_t group : {1, 7, 8, 24, 32, 48, 64, 96}) {
    PlanCase c = q4_linear(1, 100, 8, group);
    ASSERT_TRUE(c.run()) << c.error();
    EXPECT_EQ(c.kernels(), fmt::format("q4_linear_gemv<whole_blocks={}, form=plain>", group % 32 == 0)) << group;
  }
}

TEST(Q4Linear, DispatchesEachPartOfALargeWeight) {
  PlanCase c = q4_linear(1, 64, 70, 32, {32, 32, 6});
  ASSERT_TRUE(c.run()) << c.error();
  EXPECT_EQ(c.workgroups(), (std::vector<uint64_t>{2, 2, 1}));
}

TEST(Q4Linear, NamesWhatDoesNotFit) {
  PlanCase narrow("et_vk.linear_q4gsw.default");
  narrow.tensor({4, 66}).constant({8, 32}, Dtype::u8).tensor({3, 8}).value(int64_t{32}).null().tensor({4, 8});
  EXPECT_ERROR(narrow, "The rows of the weight hold 32 bytes, too few for 66 elements of 4 bits");
  PlanCase scales("et_vk.linear_q4gsw.default");
  scales.tensor({4, 64}).constant({8, 32}, Dtype::u8).tensor({1, 8}).value(int64_t{32}).null().tensor({4, 8});
  EXPECT_ERROR(scales, "The scales have shape [1, 8], too small for 2 groups of 8 rows");
  PlanCase bias("et_vk.linear_q4gsw.default");
  bias.tensor({4, 64}).constant({8, 32}, Dtype::u8).tensor({2, 8}).value(int64_t{32}).tensor({7}).tensor({4, 8});
  EXPECT_ERROR(bias, "The bias has 7 elements, too few for 8 rows");
  PlanCase group("et_vk.linear_q4gsw.default");
  group.tensor({4, 64}).constant({8, 32}, Dtype::u8).tensor({2, 8}).value(int64_t{0}).null().tensor({4, 8});
  EXPECT_ERROR(group, "The group size is 0");
  PlanCase live("et_vk.linear_q4gsw.default");
  live.tensor({4, 64}).tensor({8, 32}, Dtype::u8).tensor({2, 8}).value(int64_t{32}).null().tensor({4, 8});
  EXPECT_ERROR(live, "must be a constant");
}

TEST(Q4Linear, TakesOneScaleARowWithTheEarlierWeightInTheHighNibble) {
  PlanCase c("et_vk.linear_qcs4w.default");
  c.tensor({3, 72}).constant({8, 36}, Dtype::u8).constant({8}).tensor({3, 8});
  ASSERT_TRUE(c.run()) << c.error();
  EXPECT_EQ(c.kernels(), "q4_linear_gemv<whole_blocks=true, form=plain>");
  EXPECT_EQ(c.packings, (std::vector{Packing::q4_blocks_high_first, Packing::columns}));
}

// ---- sconce.q4_linear ----

// x [m, 64] times weights of these rows, in blocks of these parts.
struct Fused {
  std::vector<int64_t> rows;
  bool norm = false;
  const char* activation = "none";
  std::optional<Shape> residual = {};
  Value sizes = graph::Null{};
  std::vector<uint32_t> parts = {};
};

PlanCase fused_linear(int64_t m, const Fused& fused) {
  PlanCase c("sconce.q4_linear");
  c.live_tensor({128, 64}, {m, 64});
  fused.norm ? c.tensor({64}).value(1e-5) : c.null().null();
  for (int64_t n : fused.rows) c.constant({n, 32}, Dtype::u8);
  c.constant_list(fused.rows.size(), fused.parts);
  for (int64_t n : fused.rows) c.constant({2, n}, Dtype::f32, {static_cast<uint32_t>(n)});
  c.constant_list(fused.rows.size(), {});
  c.value(int64_t{32}).null().value(std::string(fused.activation));
  fused.residual ? c.live_tensor({128, 64}, *fused.residual) : c.null();
  c.value(fused.sizes);
  const bool single = fused.rows.size() == 1 || std::string(fused.activation) != "none";
  if (single) return c.tensor({128, fused.rows[0]});
  for (int64_t n : fused.rows) c.tensor({128, n});
  return c.list(fused.rows.size());
}

TEST(FusedQ4Linear, IsOneDispatchForFewRows) {
  struct Row {
    Fused fused;
    const char* kernel;
    uint64_t workgroups;
  };
  for (const Row& row : {
           Row{{.rows = {64, 32, 32}}, "q4_linear_gemv<whole_blocks=true, form=plain>", 8},
           Row{{.rows = {64, 32, 32}, .norm = true}, "q4_linear_gemv<whole_blocks=true, form=norm>", 8},
           Row{{.rows = {40, 40}, .activation = "swiglu"}, "q4_linear_gemv<whole_blocks=true, form=swiglu>", 5},
           Row{{.rows = {40, 40}, .norm = true, .activation = "swiglu"},
               "q4_linear_gemv<whole_blocks=true, form=norm_swiglu>",
               5},
           Row{{.rows = {64}, .residual = Shape{1, 64}}, "q4_linear_gemv<whole_blocks=true, form=plain>", 4},
       }) {
    PlanCase c = fused_linear(1, row.fused);
    ASSERT_TRUE(c.run()) << c.error();
    EXPECT_EQ(c.kernels(), row.kernel);
    EXPECT_EQ(c.workgroups(), std::vector{row.workgroups}) << row.kernel;
  }
}

TEST(FusedQ4Linear, TakesItsPartsApartForManyRows) {
  PlanCase qkv = fused_linear(128, {.rows = {64, 32, 32}, .norm = true});
  ASSERT_TRUE(qkv.run()) << qkv.error();
  EXPECT_EQ(qkv.kernels(),
            "rms_norm<divided=true, vectors=true, lanes=64> q4_linear_tile<whole_blocks=true> "
            "q4_linear_tile<whole_blocks=true> q4_linear_tile<whole_blocks=true>");
  PlanCase gated = fused_linear(128, {.rows = {64, 64}, .activation = "swiglu"});
  ASSERT_TRUE(gated.run()) << gated.error();
  EXPECT_EQ(gated.kernels(), "q4_linear_tile<whole_blocks=true> q4_linear_tile<whole_blocks=true> swiglu");
  EXPECT_EQ(gated.plan.scratch_bytes().size(), 2u);
}

TEST(FusedQ4Linear, CutsAtThePartsOfItsWeights) {
  // Rows 0 to 63, 64 to 127 and 128 to 129, of weights of 100 and 30 rows: four pieces.
  PlanCase c = fused_linear(1, {.rows = {100, 30}, .parts = {64, 64, 2}});
  ASSERT_TRUE(c.run()) << c.error();
  EXPECT_EQ(c.workgroups(), (std::vector<uint64_t>{4, 3, 2, 1}));
  PlanCase gated = fused_linear(1, {.rows = {65, 65}, .norm = true, .activation = "swiglu", .parts = {64, 66}});
  ASSERT_TRUE(gated.run()) << gated.error();
  EXPECT_EQ(gated.workgroups(), (std::vector<uint64_t>{4, 1, 5, 2}));
}

TEST(FusedQ4Linear, AddsAResidualOfAnotherShapeByItself) {
  PlanCase c = fused_linear(5, {.rows = {64}, .residual = Shape{1, 64}});
  ASSERT_TRUE(c.run()) << c.error();
  EXPECT_EQ(c.plan.output_shapes()[0], (Shape{5, 64}));
  EXPECT_EQ(c.plan.commands().size(), 2u);
  EXPECT_EQ(c.plan.commands()[1].kernel->name, "binary");
}

TEST(FusedQ4Linear, GivesItsOutputTheShapeOfTheViewBehindIt) {
  PlanCase c = fused_linear(6, {.rows = {64}, .sizes = graph::IntList{{-1, 64}}});
  ASSERT_TRUE(c.run()) << c.error();
  EXPECT_EQ(c.plan.output_shapes()[0], (Shape{6, 64}));
  EXPECT_ERROR(fused_linear(6, {.rows = {64}, .sizes = graph::IntList{{5, 64}}}), "A view turns 384 elements");
}

TEST(FusedQ4Linear, NamesWhatDoesNotFit) {
  EXPECT_ERROR(fused_linear(1, {.rows = {8, 8, 8, 8}}), "There are 4 weights and 4 scales, but from 1 to 3");
  EXPECT_ERROR(fused_linear(1, {.rows = {64, 32}, .activation = "swiglu"}), "there are 2, of 64 and 32 rows");
  EXPECT_ERROR(fused_linear(1, {.rows = {64}, .activation = "gelu"}), "The activation is \"gelu\"");
  EXPECT_ERROR(fused_linear(1, {.rows = {64, 64}, .activation = "swiglu", .residual = Shape{1, 64}}),
               "takes no residual");
}

TEST(Q4Packing, TakesSixteenBytesForEachStartedBlockOfARow) {
  const PackingInfo& info = packing_info(Packing::q4_blocks);
  EXPECT_EQ(info.packed_bytes({70, 32}, Dtype::u8, 70), 70u * 32);
  EXPECT_EQ(info.packed_bytes({70, 36}, Dtype::u8, 10), 10u * 48);
  const record::Capabilities capabilities;
  NodePlan plan;
  plan.begin(nullptr, nullptr, capabilities);
  const Shape shape = {70, 36};
  ASSERT_TRUE(
      info.pack({.shape = shape, .raw_first = 5, .raw_rows = 20, .part_rows = 70, .first_row = 5, .rows = 20}, plan));
  EXPECT_EQ(plan.commands()[0].grid[0], 1u);  // 20 rows of 3 blocks
  EXPECT_EQ(record::kernel_label(*plan.commands()[0].kernel, plan.commands()[0].variant), "q4_pack<high_first=false>");
}

TEST(Matmul, MultipliesLiveOperands) {
  PlanCase linear("aten.linear.default");
  linear.live_tensor({2, 128, 64}, {2, 7, 64}).constant({32, 64}).tensor({32}).tensor({2, 128, 32});
  ASSERT_TRUE(linear.run()) << linear.error();
  EXPECT_EQ(linear.plan.output_shapes()[0], (Shape{2, 7, 32}));
  EXPECT_EQ(linear.kernels(), "matmul_tile");

  PlanCase bmm("aten.bmm.default");
  bmm.live_tensor({3, 8, 8}, {3, 5, 7}).live_tensor({3, 8, 8}, {3, 7, 2}).tensor({3, 8, 8});
  bmm.capabilities.adapter_class = AdapterClass::software;
  ASSERT_TRUE(bmm.run()) << bmm.error();
  EXPECT_EQ(bmm.plan.output_shapes()[0], (Shape{3, 5, 2}));
  EXPECT_EQ(bmm.kernels(), "matmul_lanes");
  EXPECT_EQ(bmm.workgroups(), std::vector<uint64_t>{6});

  PlanCase addmm("aten.addmm.default");
  addmm.tensor({1, 9}).tensor({4, 5}).tensor({5, 9}).value(2.0).value(0.5).tensor({4, 9});
  ASSERT_TRUE(addmm.run()) << addmm.error();
  EXPECT_EQ(addmm.plan.output_shapes()[0], (Shape{4, 9}));
}

TEST(Matmul, DispatchesEachPartOfALargeWeight) {
  PlanCase c("aten.linear.default");
  c.tensor({4, 64}).constant({100, 64}, Dtype::f32, {64, 36}).null().tensor({4, 100});
  ASSERT_TRUE(c.run()) << c.error();
  EXPECT_EQ(c.workgroups(), (std::vector<uint64_t>{1, 1}));
}

TEST(Matmul, NamesShapesThatDoNotFit) {
  PlanCase mm("aten.mm.default");
  mm.live_tensor({4, 8}, {4, 7}).tensor({8, 3}).tensor({4, 3});
  EXPECT_ERROR(mm, "Matrices of shape [4, 7] and [8, 3] cannot be multiplied");
  PlanCase linear("aten.linear.default");
  linear.tensor({4, 8}).tensor({3, 8}).tensor({4}).tensor({4, 3});
  EXPECT_ERROR(linear, "The bias has shape [4], but there are 3 outputs");
  PlanCase addmm("aten.addmm.default");
  addmm.tensor({2, 3}).tensor({4, 5}).tensor({5, 3}).null().null().tensor({4, 3});
  EXPECT_ERROR(addmm, "A tensor of shape [2, 3] cannot be added to a product of shape [4, 3]");
}

TEST(Embedding, AppendsTheRowToTheShapeOfTheIndices) {
  PlanCase c("aten.embedding.default");
  c.tensor({50, 40}).live_tensor({1, 16}, {1, 3}, Dtype::i64).null().null().null().tensor({1, 16, 40});
  ASSERT_TRUE(c.run()) << c.error();
  EXPECT_EQ(c.plan.output_shapes()[0], (Shape{1, 3, 40}));
}

TEST(Embedding, ObeysTheNibbleOrderAndLooksIntoEachPart) {
  struct Row {
    Value flag;
    Packing packing;
  };
  for (const Row& row : {Row{true, Packing::q4_blocks}, Row{int64_t{1}, Packing::q4_blocks},
                         Row{false, Packing::q4_blocks_high_first}, Row{int64_t{0}, Packing::q4_blocks_high_first}}) {
    PlanCase c("et_vk.embedding_q4gsw.default");
    c.constant({50, 20}, Dtype::u8, {30, 20}).tensor({50, 5}).value(int64_t{8}).live_tensor({16}, {3}, Dtype::i64);
    c.value(row.flag).tensor({16, 40});
    ASSERT_TRUE(c.run()) << c.error();
    EXPECT_EQ(c.plan.output_shapes()[0], (Shape{3, 40}));
    EXPECT_EQ(c.kernels(), "q4_embedding q4_embedding");
    EXPECT_EQ(c.packings, std::vector{row.packing});
  }
  PlanCase bad("et_vk.embedding_q4gsw.default");
  bad.constant({50, 20}, Dtype::u8)
      .tensor({50, 4})
      .value(int64_t{8})
      .tensor({3}, Dtype::i64)
      .value(true)
      .tensor({3, 40});
  EXPECT_ERROR(bad, "Rows of 40 elements in groups of 8 need more than the 4 scales they have");
}

}  // namespace
}  // namespace sconce::ops
