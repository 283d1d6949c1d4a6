// The pass that joins rotary embedding with attention: it fires on its pattern and leaves near misses alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/check.h"
#include "passes/passes.h"
#include "support/graph_builder.h"

namespace sconce::passes {
namespace {

using graph::ValueId;
using test::Arg;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

const std::string kFused = "sconce.rotary_attention", kSlice = "aten.slice_copy.Tensor";

// One layer's attention at a live position, from its rotation on; members change what a test is about.
class RotaryLayer : public test::GraphBuilder {
 public:
  ValueId q = input({1, 4, 4, 16}), k = input({1, 4, 2, 16}), v = input({1, 4, 2, 16});
  ValueId position = symint_input(), other_position = symint_input();
  ValueId k_cache = state({1, 32, 2, 16}), v_cache = state({1, 32, 2, 16});
  ValueId cos_table = constant({32, 8}, "cos"), sin_table = constant({32, 8}, "sin");

  ValueId slice(ValueId table, int dim, ValueId start, int step = 1) {
    return call(kSlice, {table, dim, start, 32, step}, bound(table));
  }
  void rotate(ValueId cos, ValueId sin) {
    turned = call("et_vk.apply_rotary_emb.default", {q, k, cos, sin}, outputs());
  }
  void rotate_halves(ValueId cos, ValueId sin, Arg start) {
    turned = call("et_vk.apply_rotary_emb_hf.default", {q, k, cos, sin, std::move(start)}, outputs());
  }
  ValueId attend() {
    return call("sdpa_with_kv_cache.default",
                {turned[0], turned[1], v, k_cache, v_cache, position, 4, nullptr, 0.0, true, nullptr}, bound(q));
  }

  std::vector<ValueId> turned;

 private:
  std::vector<ValueId> outputs() { return {tensor(bound(q)), tensor(bound(k))}; }
};

graph::Graph rewritten(graph::Graph graph) {
  rewrite(graph, {});
  auto checked = graph::check(graph);
  EXPECT_TRUE(checked) << checked.error().to_string();
  return graph;
}

std::vector<std::string> names(const graph::Graph& graph) {
  std::vector<std::string> names;
  for (const graph::Node& node : graph.nodes) names.push_back(node.op);
  return names;
}

// What the last node of the graph, a fused one, says of its tables.
struct Tables {
  ValueId cos, sin;
  bool halves, at_position;
  bool operator==(const Tables&) const = default;
};
Tables tables_of(const graph::Graph& graph) {
  const std::vector<ValueId>& args = graph.nodes.back().args;
  if (args.size() != 16) {
    ADD_FAILURE() << "the last node, " << graph.nodes.back().op << ", has " << args.size() << " arguments";
    return {};
  }
  return {args[11], args[12], std::get<bool>(graph.values[args[13]]), std::get<bool>(graph.values[args[14]])};
}

TEST(FuseRotary, ReadsTheWholeTablesAtTheLivePosition) {
  RotaryLayer b;
  b.rotate(b.slice(b.cos_table, 0, b.position), b.slice(b.sin_table, 0, b.position));
  const graph::Graph graph = rewritten(b.finish({b.attend()}));
  ASSERT_THAT(names(graph), ElementsAre(kFused));
  EXPECT_EQ(tables_of(graph), (Tables{b.cos_table, b.sin_table, false, true}));
  EXPECT_EQ(graph.nodes[0].args[0], b.q);
  EXPECT_EQ(graph.nodes[0].args[1], b.k);
}

TEST(FuseRotary, TakesHalvesAtThePositionOrOfSlices) {
  RotaryLayer whole;
  whole.rotate_halves(whole.constant({32, 16}, "cos16"), whole.constant({32, 16}, "sin16"), whole.position);
  const graph::Graph at_position = rewritten(whole.finish({whole.attend()}));
  ASSERT_THAT(names(at_position), ElementsAre(kFused));
  EXPECT_TRUE(tables_of(at_position).halves && tables_of(at_position).at_position);

  RotaryLayer sliced;
  sliced.rotate_halves(sliced.slice(sliced.cos_table, 0, sliced.position),
                       sliced.slice(sliced.sin_table, 0, sliced.position), 0);
  const graph::Graph graph = rewritten(sliced.finish({sliced.attend()}));
  ASSERT_THAT(names(graph), ElementsAre(kFused));
  EXPECT_EQ(tables_of(graph), (Tables{sliced.cos_table, sliced.sin_table, true, true}));
}

TEST(FuseRotary, KeepsSlicesThatAreNotRowsAtThePosition) {
  RotaryLayer dim;
  dim.rotate(dim.slice(dim.cos_table, 1, dim.position), dim.slice(dim.sin_table, 1, dim.position));
  const graph::Graph of_columns = rewritten(dim.finish({dim.attend()}));
  ASSERT_THAT(names(of_columns), ElementsAre(kSlice, kSlice, kFused));
  EXPECT_FALSE(tables_of(of_columns).at_position);

  RotaryLayer start;
  start.rotate(start.slice(start.cos_table, 0, start.other_position), start.slice(start.sin_table, 0, start.position));
  EXPECT_THAT(names(rewritten(start.finish({start.attend()}))), ElementsAre(kSlice, kSlice, kFused));

  RotaryLayer step;
  step.rotate(step.slice(step.cos_table, 0, step.position, 2), step.slice(step.sin_table, 0, step.position, 2));
  EXPECT_THAT(names(rewritten(step.finish({step.attend()}))), ElementsAre(kSlice, kSlice, kFused));
}

TEST(FuseRotary, LeavesARotationThatIsReadElsewhereOrReturned) {
  for (size_t i : {0u, 1u}) {
    RotaryLayer read;
    read.rotate(read.cos_table, read.sin_table);
    const ValueId relu = read.call("aten.relu.default", {read.turned[i]}, read.bound(read.turned[i]));
    EXPECT_THAT(names(rewritten(read.finish({read.attend(), relu}))), Not(Contains(kFused)));

    RotaryLayer returned;
    returned.rotate(returned.cos_table, returned.sin_table);
    EXPECT_THAT(names(rewritten(returned.finish({returned.attend(), returned.turned[i]}))), Not(Contains(kFused)));
  }
}

TEST(FuseRotary, LeavesOtherPositionsAndValuesThatTurn) {
  RotaryLayer position;
  position.rotate_halves(position.cos_table, position.sin_table, position.other_position);
  EXPECT_THAT(names(rewritten(position.finish({position.attend()}))), Not(Contains(kFused)));

  RotaryLayer values;
  values.rotate(values.cos_table, values.sin_table);
  values.v = values.turned[1];
  EXPECT_THAT(names(rewritten(values.finish({values.attend()}))), Not(Contains(kFused)));
}

TEST(FuseRotary, LeavesOperandsThatAreWrittenInPlace) {
  RotaryLayer b;
  b.q = b.state({1, 4, 4, 16});
  b.rotate(b.cos_table, b.sin_table);
  b.call("aten.copy_.default", {b.q, b.input({1, 4, 4, 16})}, b.tensor({1, 4, 4, 16}));
  EXPECT_THAT(names(rewritten(b.finish({b.attend()}))), Not(Contains(kFused)));
}

// A layer's caches, rewritten with half_caches.
class HalfCaches : public testing::Test {
 protected:
  HalfCaches() { layer.rotate(layer.cos_table, layer.sin_table); }
  // The element types of the caches of keys and values.
  std::pair<Dtype, Dtype> types(std::vector<ValueId> outputs) {
    graph::Graph graph = layer.finish(std::move(outputs));
    rewrite(graph, {.half_caches = true});
    EXPECT_TRUE(graph::check(graph));
    return {graph.tensor(layer.k_cache)->dtype, graph.tensor(layer.v_cache)->dtype};
  }
  RotaryLayer layer;
};
constexpr std::pair kHalf{Dtype::f16, Dtype::f16}, kFull{Dtype::f32, Dtype::f32};

TEST_F(HalfCaches, AreThoseThatOnlyAttentionTouches) {
  EXPECT_EQ(types({layer.attend()}), kHalf);
}

TEST_F(HalfCaches, MayBelongToSeveralAttentions) {
  EXPECT_EQ(types({layer.attend(), layer.attend()}), kHalf);
}

TEST_F(HalfCaches, AreNotThoseThatStartFromTheFile) {
  layer.k_cache = layer.constant({1, 32, 2, 16}, "not zeros");
  EXPECT_EQ(types({layer.attend()}), kFull);
}

TEST_F(HalfCaches, AreNotThoseThatOtherNodesRead) {
  const ValueId y = layer.attend();
  EXPECT_EQ(types({y, layer.call("aten.neg.default", {layer.v_cache}, layer.tensor({1, 32, 2, 16}))}), kFull);
}

TEST_F(HalfCaches, AreNotOutputs) {
  const ValueId y = layer.attend();
  EXPECT_EQ(types({y, layer.k_cache}), kFull);
}

TEST_F(HalfCaches, AreNotOneForKeysAndValues) {
  layer.v_cache = layer.k_cache;
  EXPECT_EQ(types({layer.attend()}), kFull);
}

}  // namespace
}  // namespace sconce::passes
