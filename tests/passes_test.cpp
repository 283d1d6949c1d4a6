// Passes on graphs: each fires on its pattern and leaves near misses alone.
#include "passes/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "graph/check.h"
#include "passes/pattern.h"
#include "support/graph_builder.h"
#include "support/graph_text.h"

namespace sconce::passes {
namespace {

using graph::Graph;
using test::Arg;
using test::GraphBuilder;
using ::testing::ElementsAre;

// The nodes as text after all passes; the graph must still be one.
std::vector<std::string> rewritten(Graph graph, const Options& options = {}) {
  rewrite(graph, options);
  auto checked = graph::check(graph);
  EXPECT_TRUE(checked) << checked.error().to_string();
  std::vector<std::string> lines;
  for (const graph::Node& node : graph.nodes) lines.push_back(test::text(graph, node));
  return lines;
}

// ---- what passes ask of a graph ----

TEST(Index, LooksThroughViewsButNotThroughWhatIsWrittenInPlace) {
  GraphBuilder b;
  const ValueId x = b.input({4, 8}), state = b.state({4, 8}), position = b.literal(0);
  const ValueId relu = b.call("aten.relu.default", {x}, Shape{4, 8});                               // node 0
  const ValueId view = b.call("aten.view_copy.default", {relu, Arg::ints({2, 16})}, Shape{2, 16});  // node 1
  const ValueId again = b.call("aten.clone.default", {view, nullptr}, Shape{2, 16});                // node 2
  const ValueId y = b.call("aten.relu.default", {again}, Shape{2, 16});                             // node 3
  const ValueId moment = b.call("aten.view_copy.default", {state, Arg::ints({32})}, Shape{32});     // node 4
  const ValueId written = b.call("update_cache.default", {x, state, position}, Shape{1});           // node 5
  const Graph graph = b.finish({y, moment, written});
  const Index index(graph);
  EXPECT_TRUE(index.is_view(1) && index.is_view(2));
  EXPECT_EQ(index.source(again), relu);
  EXPECT_EQ(index.producer(again), 0u);
  EXPECT_EQ(index.direct_producer(again), 2u);
  EXPECT_EQ(index.only_reader(relu), 3u);
  EXPECT_EQ(index.producer(x), kNone);
  EXPECT_FALSE(index.is_view(4)) << "a view of a state has the contents of its moment";
  EXPECT_TRUE(index.is_written(state));
}

TEST(Index, HasNoOnlyReaderOfWhatIsReadTwiceOrReturned) {
  GraphBuilder b;
  const ValueId x = b.input({4});
  const ValueId twice = b.call("aten.relu.default", {x}, Shape{4});
  const ValueId view = b.call("aten.view_copy.default", {twice, Arg::ints({2, 2})}, Shape{2, 2});
  const ValueId first = b.call("aten.abs.default", {twice}, Shape{4});
  const ValueId second = b.call("aten.abs.default", {view}, Shape{2, 2});
  const ValueId out = b.call("aten.view_copy.default", {first, Arg::ints({2, 2})}, Shape{2, 2});
  const ValueId third = b.call("aten.abs.default", {first}, Shape{4});
  const Graph graph = b.finish({second, out, third});
  const Index index(graph);
  EXPECT_EQ(index.only_reader(twice), kNone);
  EXPECT_EQ(index.readers(view).size(), 2u);
  EXPECT_EQ(index.only_reader(first), kNone) << "a view of it is returned";
  EXPECT_TRUE(index.is_output(first));
}

// ---- views ----

TEST(FoldViews, ReadsAroundClonesAndChainsOfViews) {
  GraphBuilder b;
  const ValueId x = b.input({4, 8});
  const ValueId clone = b.call("aten.clone.default", {x, nullptr}, Shape{4, 8});
  const ValueId relu = b.call("aten.relu.default", {clone}, Shape{4, 8});
  const ValueId view = b.call("aten.view_copy.default", {relu, Arg::ints({32})}, Shape{32});
  const ValueId last = b.call("aten.view_copy.default", {view, Arg::ints({2, 16})}, Shape{2, 16});
  const ValueId y = b.call("aten.relu.default", {last}, Shape{2, 16});
  EXPECT_THAT(rewritten(b.finish({y})),
              ElementsAre("aten.relu.default(%0) -> %3", "aten.view_copy.default(%3, [2, 16]) -> %6",
                          "aten.relu.default(%6) -> %8"));
}

TEST(FoldViews, KeepsReturnedClonesConversionsAndCopiesOfStates) {
  GraphBuilder b;
  const ValueId x = b.input({4}), state = b.state({4});
  const ValueId returned = b.call("aten.clone.default", {x, nullptr}, Shape{4});
  const ValueId before = b.call("aten.clone.default", {state, nullptr}, Shape{4});
  b.call("aten.copy_.default", {state, x}, b.tensor({4}));
  const ValueId y = b.call("aten.relu.default", {before}, Shape{4});
  const ValueId whole = b.call("aten._to_copy.default", {x, nullptr}, b.tensor({4}, Dtype::i32));
  const ValueId z = b.call("aten.abs.default", {whole}, b.tensor({4}, Dtype::i32));
  EXPECT_EQ(rewritten(b.finish({returned, y, z})).size(), 6u);
}

// ---- linears with 4-bit weights ----

// Graphs of linears of x [4, 64] with weights of n rows, in groups of 32.
class Linears : public GraphBuilder {
 public:
  ValueId linear(ValueId x, const std::string& name, int64_t n = 64, std::optional<Arg> bias = {}, int group = 32) {
    const ValueId weight = constant({n, 32}, name, Dtype::u8), scales = constant({2, n}, name + ".scales");
    return call("et_vk.linear_q4gsw.default", {x, weight, scales, group, bias.value_or(Arg(nullptr))}, Shape{4, n});
  }
  ValueId norm(ValueId x) { return call("et_vk.rms_norm.default", {x, constant({64}, "norm"), 1e-5}, Shape{4, 64}); }
  ValueId view(ValueId x, std::vector<int64_t> sizes) {
    Shape shape;
    for (int64_t size : sizes) shape.push_back(size);
    return call("aten.view_copy.default", {x, Arg::ints(sizes)}, shape);
  }
  ValueId sigmoid(ValueId x) { return call("aten.sigmoid.default", {x}, bound(x)); }
  ValueId mul(ValueId a, ValueId b) { return call("aten.mul.Tensor", {a, b}, bound(a)); }
  ValueId add(ValueId a, ValueId b, Arg alpha = 1) { return call("aten.add.Tensor", {a, b, alpha}, bound(a)); }
};

// The operators after all passes, and of a fused one what it fuses: "q4_linear:norm,3,swiglu,residual,sizes".
std::vector<std::string> fused(Graph graph) {
  rewrite(graph, {});
  auto checked = graph::check(graph);
  EXPECT_TRUE(checked) << checked.error().to_string();
  std::vector<std::string> names;
  for (const graph::Node& node : graph.nodes) {
    if (node.op != "sconce.q4_linear") {
      names.push_back(node.op);
      continue;
    }
    std::string name = "q4_linear:";
    if (argument(graph, node, 1) != kNone) name += "norm,";
    name += std::to_string(std::get<graph::ValueList>(graph.values[node.args[3]]).items.size());
    if (std::get<std::string>(graph.values[node.args[7]]) != "none") name += ",swiglu";
    if (argument(graph, node, 8) != kNone) name += ",residual";
    if (argument(graph, node, 9) != kNone) name += ",sizes";
    names.push_back(name);
  }
  return names;
}

TEST(JoinLinears, TakesUpToThreeOfOneInputWithTheirBiases) {
  Linears b;
  const ValueId x = b.input({4, 64});
  std::vector<ValueId> outputs;
  for (std::string name : {"a", "b", "c", "d"})
    outputs.push_back(b.linear(x, name, 32, b.constant({32}, name + ".bias")));
  Graph graph = b.finish(outputs);
  rewrite(graph, {});
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(test::text(graph, graph.nodes[0]),
            "sconce.q4_linear(%0, null, null, (#2, #7, #12), (#3, #8, #13), 32, (#1, #6, #11), \"none\", null, null) "
            "-> (%4, %9, %14)");
}

TEST(JoinLinears, LeavesWhatDoesNotFitTogether) {
  Linears b;
  const ValueId x = b.input({4, 64}), other = b.input({4, 64});
  const ValueId padded =
      b.call("et_vk.linear_q4gsw.default",
             {x, b.constant({30, 32}, "p", Dtype::u8), b.constant({2, 32}, "ps"), 32, nullptr}, Shape{4, 30});
  const std::vector<ValueId> outputs = {b.linear(x, "a"), b.linear(other, "b"), b.linear(x, "c", 32, {}, 16),
                                        b.linear(x, "d", 32, b.constant({32}, "e")), padded};
  EXPECT_THAT(fused(b.finish(outputs)),
              ElementsAre("q4_linear:1", "q4_linear:1", "q4_linear:1", "q4_linear:1", "q4_linear:1"));
}

TEST(JoinLinears, KeepsAWeightThatSomethingElseReadsByItself) {
  Linears b;
  const ValueId x = b.input({4, 64}), other = b.input({4, 64});
  const std::vector<ValueId> outputs = {b.linear(x, "a"), b.linear(x, "b"), b.linear(other, "b")};
  EXPECT_THAT(fused(b.finish(outputs)), ElementsAre("q4_linear:1", "q4_linear:1", "q4_linear:1"));
}

TEST(JoinLinears, LeavesLinearsOfComputedWeightsAndOfStates) {
  Linears b;
  const ValueId x = b.input({4, 64}), weight = b.input({8, 32}, Dtype::u8), state = b.state({4, 64});
  const ValueId scales = b.constant({2, 8}, "s");
  const ValueId y = b.call("et_vk.linear_q4gsw.default", {x, weight, scales, 32, nullptr}, Shape{4, 8});
  const ValueId before = b.linear(state, "a");
  b.call("aten.copy_.default", {state, x}, b.tensor({4, 64}));
  const ValueId after = b.linear(state, "b");
  EXPECT_THAT(fused(b.finish({y, before, after})),
              ElementsAre("et_vk.linear_q4gsw.default", "et_vk.linear_q4gsw.default", "aten.copy_.default",
                          "et_vk.linear_q4gsw.default"));
}

TEST(FuseSwiglu, GatesOneProductByAnotherInEitherOrderAndBehindEqualViews) {
  Linears b;
  const ValueId x = b.input({4, 64});
  const ValueId gate = b.view(b.linear(x, "gate"), {1, 4, 64});
  const ValueId silu = b.mul(b.sigmoid(gate), gate);
  const ValueId first = b.mul(b.view(b.linear(x, "up"), {1, 4, 64}), silu);
  const ValueId gate2 = b.linear(x, "gate2");
  const ValueId silu2 = b.call("aten.silu.default", {gate2}, Shape{4, 64});
  const ValueId second = b.mul(silu2, b.linear(x, "up2"));
  EXPECT_THAT(fused(b.finish({first, second})), ElementsAre("q4_linear:2,swiglu,sizes", "q4_linear:2,swiglu"));
}

TEST(FuseSwiglu, LeavesNearMisses) {
  struct Case {
    const char* what;
    std::function<std::vector<ValueId>(Linears&)> build;
  };
  const auto gated = [](Linears& b, ValueId gate, ValueId up) { return b.mul(b.mul(gate, b.sigmoid(gate)), up); };
  for (const Case& c : {
           Case{"the gate is returned",
                [&](Linears& b) {
                  const ValueId x = b.input({4, 64}), gate = b.linear(x, "g");
                  return std::vector{gated(b, gate, b.linear(x, "u")), gate};
                }},
           Case{"another node reads the other product",
                [&](Linears& b) {
                  const ValueId x = b.input({4, 64}), up = b.linear(x, "u");
                  return std::vector{gated(b, b.linear(x, "g"), up), b.sigmoid(up)};
                }},
           Case{"two inputs",
                [&](Linears& b) {
                  const ValueId x = b.input({4, 64}), other = b.input({4, 64});
                  return std::vector{gated(b, b.linear(x, "g"), b.linear(other, "u"))};
                }},
           Case{"one product is broadcast",
                [&](Linears& b) {
                  const ValueId x = b.input({4, 64});
                  return std::vector{gated(b, b.linear(x, "g"), b.linear(x, "u", 1))};
                }},
           Case{"different views",
                [&](Linears& b) {
                  const ValueId x = b.input({4, 64}), gate = b.view(b.linear(x, "g"), {1, 4, 64});
                  return std::vector{gated(b, gate, b.view(b.linear(x, "u"), {4, 1, 64}))};
                }},
           Case{"the sigmoid is of the other product",
                [&](Linears& b) {
                  const ValueId x = b.input({4, 64}), gate = b.linear(x, "g"), up = b.linear(x, "u");
                  return std::vector{b.mul(b.mul(gate, b.sigmoid(up)), up)};
                }},
           Case{"a product with itself",
                [&](Linears& b) {
                  const ValueId gate = b.linear(b.input({4, 64}), "g");
                  return std::vector{gated(b, gate, gate)};
                }},
       }) {
    SCOPED_TRACE(c.what);
    Linears b;
    const std::vector<ValueId> outputs = c.build(b);
    for (const std::string& name : fused(b.finish(outputs))) EXPECT_EQ(name.find("swiglu"), std::string::npos) << name;
  }
}

TEST(FuseResidual, AddsOnEitherSideAndBehindAView) {
  Linears b;
  const ValueId x = b.input({4, 64}), residual = b.input({1, 4, 64});
  const ValueId first = b.add(residual, b.view(b.linear(x, "a"), {1, 4, 64}));
  const ValueId second = b.add(b.linear(x, "b"), x, 1.0);
  EXPECT_THAT(fused(b.finish({first, second})), ElementsAre("q4_linear:1,residual,sizes", "q4_linear:1,residual"));
}

TEST(FuseResidual, LeavesNearMisses) {
  Linears b;
  const ValueId x = b.input({4, 64}), state = b.state({4, 64}), whole = b.input({4, 64}, Dtype::i32);
  const ValueId returned = b.linear(b.sigmoid(x), "a"), twice = b.linear(b.sigmoid(x), "b");
  const ValueId scaled = b.linear(b.sigmoid(x), "c"), itself = b.linear(b.sigmoid(x), "d");
  const ValueId moment = b.linear(b.sigmoid(x), "e"), mixed = b.linear(b.sigmoid(x), "f");
  std::vector<ValueId> outputs = {returned, b.sigmoid(twice)};
  outputs.push_back(b.add(returned, x));
  outputs.push_back(b.add(twice, x));
  outputs.push_back(b.add(scaled, x, 2));
  outputs.push_back(b.add(itself, itself));
  outputs.push_back(b.add(moment, state));
  outputs.push_back(b.add(mixed, whole));
  b.call("aten.copy_.default", {state, x}, b.tensor({4, 64}));
  size_t sums = 0;
  for (const std::string& name : fused(b.finish(outputs))) {
    EXPECT_EQ(name.find("residual"), std::string::npos) << name;
    sums += name == "aten.add.Tensor";
  }
  EXPECT_EQ(sums, 6u);
}

TEST(FuseNorm, BecomesPartOfTheLinearsThatAloneReadIt) {
  Linears b;
  const ValueId x = b.input({4, 64}), h = b.norm(x);
  const std::vector<ValueId> outputs = {b.linear(h, "q"), b.linear(h, "k", 32), b.linear(h, "v", 32)};
  EXPECT_THAT(fused(b.finish(outputs)), ElementsAre("q4_linear:norm,3"));
}

TEST(FuseNorm, StaysWhereSomethingElseReadsItOrItIsReturned) {
  Linears b;
  const ValueId x = b.input({4, 64}), read = b.norm(x), returned = b.norm(b.sigmoid(x));
  const std::vector<ValueId> outputs = {b.linear(read, "a"), b.sigmoid(read), b.linear(returned, "b"), returned};
  for (const std::string& name : fused(b.finish(outputs))) EXPECT_EQ(name.find("norm,"), std::string::npos) << name;
}

TEST(FuseNorm, StaysBeforeALinearWithAResidual) {
  Linears b;
  const ValueId x = b.input({4, 64});
  EXPECT_THAT(fused(b.finish({b.add(x, b.linear(b.norm(x), "a"))})),
              ElementsAre("et_vk.rms_norm.default", "q4_linear:1,residual"));
}

TEST(Rewrite, MakesAFeedForwardLayerTwoNodes) {
  Linears b;
  const ValueId x = b.input({4, 64}), h = b.norm(x), gate = b.linear(h, "gate");
  const ValueId product = b.mul(b.mul(gate, b.sigmoid(gate)), b.linear(h, "up"));
  EXPECT_THAT(fused(b.finish({b.add(x, b.linear(product, "down"))})),
              ElementsAre("q4_linear:norm,2,swiglu", "q4_linear:1,residual"));
}

TEST(Rewrite, LeavesClonesAloneWithoutFusion) {
  GraphBuilder b;
  const ValueId x = b.input({4});
  const ValueId clone = b.call("aten.clone.default", {x, nullptr}, Shape{4});
  const ValueId y = b.call("aten.relu.default", {clone}, Shape{4});
  b.call("aten.abs.default", {x}, Shape{4});  // nothing reads it
  EXPECT_EQ(rewritten(b.finish({y}), {.fuse = false}).size(), 2u);
}

// ---- split_quantized ----

// Two linears with 8-bit activations of one input, each behind a choose_qparams of its own with the given range.
Graph quantized_pair(int first_low, int second_low) {
  GraphBuilder b;
  const ValueId x = b.input({4, 64});
  std::vector<ValueId> outputs;
  for (int low : {first_low, second_low}) {
    const ValueId scale = b.tensor({4}), zero_point = b.tensor({4}, Dtype::i8);
    b.call("torchao.choose_qparams_affine.default", {x, "ASYMMETRIC", Arg::ints({1, 64}), 1, low, 127, 1e-5, 6, 1},
           std::vector{scale, zero_point});
    const std::string n = std::to_string(outputs.size());
    const ValueId weight = b.constant({8, 32}, "w" + n, Dtype::u8), sums = b.constant({2, 8}, "sums" + n, Dtype::i32);
    outputs.push_back(b.call("et_vk.linear_dq8ca_q4gsw.default",
                             {x, scale, zero_point, weight, sums, b.constant({2, 8}, "s" + n), 32, nullptr},
                             Shape{4, 8}));
  }
  return b.finish(outputs);
}

std::vector<std::string> operators(Graph graph) {
  rewrite(graph, {});
  EXPECT_TRUE(graph::check(graph));
  std::vector<std::string> names;
  for (const graph::Node& node : graph.nodes) names.push_back(node.op);
  return names;
}

TEST(SplitQuantized, SharesTheRoundingOfOneInput) {
  EXPECT_THAT(operators(quantized_pair(-128, -128)),
              ElementsAre("torchao.choose_qparams_affine.default", "sconce.round_rows", "sconce.q4_linear"));
}

TEST(SplitQuantized, RoundsTwiceWhereTheRangesDiffer) {
  EXPECT_THAT(operators(quantized_pair(-128, -64)),
              ElementsAre("torchao.choose_qparams_affine.default", "sconce.round_rows", "sconce.q4_linear",
                          "torchao.choose_qparams_affine.default", "sconce.round_rows", "sconce.q4_linear"));
}

}  // namespace
}  // namespace sconce::passes
