// Attention, KV caches and rotary embeddings as plans: routes, scratch, live shapes, and errors with their numbers.
#include <map>

#include "plan_case.h"

namespace sconce::ops {
namespace {

using record::AdapterClass;

#define EXPECT_ERROR(plan_case, part) \
  EXPECT_NE((plan_case).error().find(part), std::string::npos) << (plan_case).error()

// sdpa_with_kv_cache of `tokens` at `position`: 9 query heads and 3 key heads, unless other sizes are given.
PlanCase attention(int64_t tokens, int64_t position, int64_t capacity, int64_t head_size = 64) {
  PlanCase c("sdpa_with_kv_cache.default");
  const Shape bound = {1, capacity, 3, head_size}, live = {1, tokens, 3, head_size};
  c.live_tensor({1, capacity, 9, head_size}, {1, tokens, 9, head_size})
      .live_tensor(bound, live)
      .live_tensor(bound, live);
  c.tensor(bound).tensor(bound).symint(position).symint(tokens).null().value(0.0).value(true).null();
  c.tensor({1, capacity, 9, head_size});
  return c;
}

TEST(Attention, AppendsThenAttends) {
  PlanCase c = attention(5, 7, 64);
  c.capabilities.adapter_class = AdapterClass::software;
  c.capabilities.subgroups = true;
  c.capabilities.subgroup_min_size = 8;
  ASSERT_TRUE(c.run()) << c.error();
  EXPECT_EQ(c.plan.output_shapes()[0], (Shape{1, 5, 9, 64}));
  EXPECT_EQ(c.kernels(), "append_kv<Kv=f32> attention_lanes<rows=8, width=8, wide=true, masked=false, Kv=f32>");
  EXPECT_EQ(c.workgroups(), (std::vector<uint64_t>{15, 6}));
}

TEST(Attention, TakesAnyHeadSize) {
  for (const auto& [head_size, d_tiles] :
       std::map<int64_t, int>{{6, 1}, {64, 1}, {80, 2}, {132, 4}, {256, 4}, {300, 4}}) {
    PlanCase c = attention(40, 0, 64, head_size);
    ASSERT_TRUE(c.run()) << c.error();
    EXPECT_EQ(c.kernels(), fmt::format("append_kv<Kv=f32> attention<d_tiles={}, masked=false, Kv=f32>", d_tiles))
        << head_size;
    // Rows in tiles of 4, and heads above 256 elements in tiles of 256.
    EXPECT_EQ(c.workgroups()[1], 40u * 3 / 4 * 3 * (head_size > 256 ? 2 : 1));
  }
}

TEST(Attention, SplitsTheKeysOfADecodeStep) {
  PlanCase c = attention(1, 1023, 2048);
  ASSERT_TRUE(c.run()) << c.error();
  EXPECT_EQ(c.kernels(), "append_kv<Kv=f32> attention_rows<rows=4, wide=false, Kv=f32> attention_merge");
  EXPECT_EQ(c.workgroups()[1], 3u * 32);  // splits of 32 keys
  c.capabilities.adapter_class = AdapterClass::software;
  ASSERT_TRUE(c.run()) << c.error();
  EXPECT_EQ(c.workgroups()[1], 3u * 2);
  PlanCase near_start = attention(1, 100, 2048);
  near_start.capabilities.adapter_class = AdapterClass::software;
  ASSERT_TRUE(near_start.run()) << near_start.error();
  EXPECT_EQ(near_start.kernels(), "append_kv<Kv=f32> attention_rows<rows=4, wide=false, Kv=f32>");
}

TEST(Attention, TakesATokenInOneDispatchWhereATeamFitsASubgroup) {
  struct Row {
    int64_t tokens, head_size;
    uint32_t subgroup;
    const char* kernels;
  };
  for (const Row& row : {Row{1, 64, 32, "attention_step<rows=4, quads=16, turn=none, Kv=f32>"},
                         Row{1, 64, 16, "attention_step<rows=4, quads=16, turn=none, Kv=f32>"},
                         Row{1, 128, 32, "attention_step<rows=4, quads=32, turn=none, Kv=f32>"},
                         Row{1, 128, 16, "append_kv<Kv=f32> attention_rows<rows=4, wide=true, Kv=f32>"},
                         Row{1, 96, 32, "append_kv<Kv=f32> attention_rows<rows=4, wide=true, Kv=f32>"},
                         Row{2, 64, 32, "append_kv<Kv=f32> attention_rows<rows=8, wide=false, Kv=f32>"}}) {
    PlanCase c = attention(row.tokens, 30, 2048, row.head_size);
    c.capabilities.subgroups = true;
    c.capabilities.subgroup_min_size = row.subgroup;
    ASSERT_TRUE(c.run()) << c.error();
    EXPECT_EQ(c.kernels(), row.kernels) << row.head_size << " with subgroups of " << row.subgroup;
  }
}

TEST(Attention, SplitsTheKeysOfALongContextInOneDispatchAndAMerge) {
  PlanCase c = attention(1, 1023, 2048);
  c.capabilities.subgroups = true;
  c.capabilities.subgroup_min_size = 32;
  ASSERT_TRUE(c.run()) << c.error();
  EXPECT_EQ(c.kernels(), "attention_step<rows=4, quads=16, turn=none, Kv=f32> attention_merge");
  EXPECT_EQ(c.workgroups()[0], 3u * 4);  // splits of 256 keys
}

TEST(Attention, TakesManyRowsToTheMatrixUnitWhereF16ProductsAreAllowed) {
  PlanCase c = attention(40, 0, 64, 64);
  c.capabilities.f16 = c.capabilities.subgroups = c.capabilities.f16_products = true;
  c.capabilities.subgroup_min_size = c.capabilities.subgroup_max_size = 32;
  c.capabilities.matrix_configs = {{.m = 16, .n = 16, .k = 16}};
  c.capabilities.max_workgroup_storage_bytes = 49152;
  ASSERT_TRUE(c.run()) << c.error();
  EXPECT_EQ(c.kernels(), "append_kv<Kv=f32> attention_matrix<wide=false, Kv=f32>");
  EXPECT_EQ(c.workgroups()[1], 3u * 2);  // 120 rows of each key head in tiles of 64
  c.capabilities.f16_products = false;
  ASSERT_TRUE(c.run()) << c.error();
  EXPECT_EQ(c.kernels(), "append_kv<Kv=f32> attention<d_tiles=1, masked=false, Kv=f32>");
}

TEST(Attention, NeedsNoScratchThatGrowsWithTheContext) {
  for (int64_t capacity : {4096, 131072}) {
    PlanCase decode = attention(1, capacity - 1, capacity);
    ASSERT_TRUE(decode.run()) << decode.error();
    ASSERT_EQ(decode.plan.scratch_bytes().size(), 1u);
    EXPECT_LE(decode.plan.scratch_bytes()[0], 64u * 9 * 66 * 4) << capacity;
    PlanCase prefill = attention(2048, capacity - 2048, capacity);
    ASSERT_TRUE(prefill.run()) << prefill.error();
    EXPECT_TRUE(prefill.plan.scratch_bytes().empty());
  }
}

TEST(Attention, DoesNothingForNoTokens) {
  PlanCase c = attention(0, 64, 64);
  ASSERT_TRUE(c.run()) << c.error();
  EXPECT_EQ(c.plan.output_shapes()[0], (Shape{1, 0, 9, 64}));
  EXPECT_EQ(c.kernels(), "");
}

TEST(Attention, RefusesTokensPastTheCapacity) {
  PlanCase full = attention(3, 62, 64);
  EXPECT_ERROR(full, "3 tokens from position 62 on pass the 64 rows of the KV cache");
  PlanCase negative = attention(1, -1, 64);
  EXPECT_ERROR(negative, "1 tokens from position -1 on pass the 64 rows");
}

TEST(Attention, RefusesWhatItDoesNotCompute) {
  PlanCase mask("sdpa_with_kv_cache.default");
  const Shape rows = {1, 4, 2, 8}, cache = {1, 16, 2, 8};
  mask.tensor(rows).tensor(rows).tensor(rows).tensor(cache).tensor(cache).value(int64_t{0}).value(int64_t{4});
  mask.tensor({4, 16}).value(0.0).value(true).null().tensor(rows);
  EXPECT_ERROR(mask, "attention mask");
  PlanCase heads("sdpa_with_kv_cache.default");
  heads.tensor({1, 4, 3, 8}).tensor(rows).tensor(rows).tensor(cache).tensor(cache).value(int64_t{0}).null();
  heads.null().null().null().null().tensor({1, 4, 3, 8});
  EXPECT_ERROR(heads, "a whole number of query heads for each key head");
  PlanCase other_cache("sdpa_with_kv_cache.default");
  other_cache.tensor(rows).tensor(rows).tensor(rows).tensor({1, 16, 1, 8}).tensor({1, 16, 1, 8}).value(int64_t{0});
  other_cache.null().null().null().null().null().tensor(rows);
  EXPECT_ERROR(other_cache, "New rows of shape [1, 4, 2, 8] do not fit a cache of shape [1, 16, 1, 8]");
}

TEST(Attention, AttendsToEverythingWithoutACache) {
  PlanCase c("et_vk.sdpa.default");
  c.live_tensor({2, 3, 16, 8}, {2, 3, 5, 8}).live_tensor({2, 3, 24, 8}, {2, 3, 7, 8});
  c.live_tensor({2, 3, 24, 8}, {2, 3, 7, 8}).null().null().tensor({2, 3, 16, 8});
  ASSERT_TRUE(c.run()) << c.error();
  EXPECT_EQ(c.plan.output_shapes()[0], (Shape{2, 3, 5, 8}));
  EXPECT_EQ(c.workgroups(), std::vector<uint64_t>{6});
  PlanCase mask("et_vk.sdpa.default");
  mask.tensor({1, 2, 4, 8}).tensor({1, 2, 6, 8}).tensor({1, 2, 6, 8}).tensor({1, 1, 4, 6}).null().tensor({1, 2, 4, 8});
  EXPECT_ERROR(mask, "The mask has shape [1, 1, 4, 6], but the scores have shape [1, 2, 4, 6]");
}

TEST(UpdateCache, CopiesRowsToTheirPosition) {
  PlanCase c("update_cache.default");
  c.live_tensor({1, 8, 2, 4}, {1, 3, 2, 4}).tensor({1, 16, 2, 4}).symint(5).tensor({1});
  ASSERT_TRUE(c.run()) << c.error();
  ASSERT_EQ(c.kernels(), "copy");
  EXPECT_EQ(c.plan.commands()[0].to_offset, 5u * 8 * 4);
  EXPECT_EQ(c.plan.commands()[0].size, 3u * 8 * 4);
}

PlanCase rotary(int64_t tokens, int64_t position, int64_t rotary_size) {
  PlanCase c("et_vk.apply_rotary_emb_hf.default");
  c.live_tensor({1, 16, 9, 64}, {1, tokens, 9, 64}).live_tensor({1, 16, 3, 64}, {1, tokens, 3, 64});
  c.tensor({32, rotary_size}).tensor({32, rotary_size}).symint(position);
  c.tensor({1, 16, 9, 64}).tensor({1, 16, 3, 64}).list(2);
  return c;
}

TEST(Rotary, TurnsQueriesAndKeysInOneDispatch) {
  for (int64_t rotary_size : {24, 64}) {
    PlanCase c = rotary(7, 25, rotary_size);
    ASSERT_TRUE(c.run()) << c.error();
    EXPECT_EQ(c.plan.output_shapes()[0], (Shape{1, 7, 9, 64}));
    EXPECT_EQ(c.plan.output_shapes()[1], (Shape{1, 7, 3, 64}));
    EXPECT_EQ(c.kernels(), "rotate_heads<halves=true, append=false, Kv=f32>");
    EXPECT_EQ(c.workgroups(), std::vector<uint64_t>{7 * 12 * 32 / 64});
  }
}

TEST(Rotary, NamesPositionsAndSizesThatDoNotFit) {
  PlanCase past = rotary(8, 25, 64);
  EXPECT_ERROR(past, "8 tokens from row 25 on pass the 32 rows of the rotary tables");
  PlanCase negative = rotary(1, -1, 64);
  EXPECT_ERROR(negative, "Position -1 lies outside the 32 positions");
  PlanCase wide = rotary(1, 0, 66);
  EXPECT_ERROR(wide, "turn 66 elements, but they must turn an even number of a head's 64");
  PlanCase lengths("et_vk.apply_rotary_emb.default");
  lengths.tensor({1, 4, 2, 8}).tensor({1, 3, 2, 8}).tensor({4, 4}).tensor({4, 4});
  lengths.tensor({1, 4, 2, 8}).tensor({1, 3, 2, 8}).list(2);
  EXPECT_ERROR(lengths, "may differ only in their number of heads");
  PlanCase rows("et_vk.apply_rotary_emb_interleaved.default");
  rows.tensor({2, 5, 8}).tensor({4, 8}).tensor({2, 5, 8});
  EXPECT_ERROR(rows, "too few for the 5 rows of 8");
}

// The fused node of `tokens` at `position`: capacity 64, tables of `table_rows`, read from the position on.
PlanCase rotary_attention(int64_t tokens, int64_t position, int64_t table_rows, bool at_position = true) {
  PlanCase c("sconce.rotary_attention");
  const Shape bound = {1, 64, 3, 64}, live = {1, tokens, 3, 64};
  c.live_tensor({1, 64, 9, 64}, {1, tokens, 9, 64}).live_tensor(bound, live).live_tensor(bound, live);
  c.tensor(bound).tensor(bound).symint(position).symint(tokens).null().value(0.0).value(true).null();
  c.tensor({table_rows, 32}).tensor({table_rows, 32}).value(false).value(at_position).tensor({1, 64, 9, 64});
  return c;
}

TEST(RotaryAttention, TurnsAndAppendsThenAttends) {
  PlanCase c = rotary_attention(5, 7, 64);
  ASSERT_TRUE(c.run()) << c.error();
  EXPECT_EQ(c.plan.output_shapes()[0], (Shape{1, 5, 9, 64}));
  EXPECT_TRUE(c.kernels().starts_with("rotate_heads<halves=false, append=true, Kv=f32> attention")) << c.kernels();
  EXPECT_EQ(c.workgroups()[0], 5u * 12 * 32 / 64);
  EXPECT_EQ(c.plan.scratch_bytes()[0], 5u * 9 * 64 * 4);
  PlanCase none = rotary_attention(0, 64, 64);
  ASSERT_TRUE(none.run()) << none.error();
  EXPECT_EQ(none.kernels(), "");
}

TEST(RotaryAttention, EndsWhereTheCacheOrTheTablesEnd) {
  PlanCase cache = rotary_attention(5, 60, 128);
  EXPECT_ERROR(cache, "5 tokens from position 60 on pass the 64 rows of the KV cache");
  PlanCase table = rotary_attention(5, 30, 32);
  EXPECT_ERROR(table, "5 tokens from row 30 on pass the 32 rows of the rotary tables");
  PlanCase sliced = rotary_attention(5, 30, 32, /*at_position=*/false);
  EXPECT_TRUE(sliced.run()) << sliced.error();
}

}  // namespace
}  // namespace sconce::ops
