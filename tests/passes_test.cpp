// Passes on graphs: each fires on its pattern and leaves near misses alone.
#include "passes/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  const ValueId relu = b.call("aten.relu.default", {x}, Shape{4, 8});                                   // node 0
  const ValueId view = b.call("aten.view_copy.default", {relu, Arg::ints({2, 16})}, Shape{2, 16});      // node 1
  const ValueId again = b.call("aten.clone.default", {view, nullptr}, Shape{2, 16});                    // node 2
  const ValueId y = b.call("aten.relu.default", {again}, Shape{2, 16});                                 // node 3
  const ValueId moment = b.call("aten.view_copy.default", {state, Arg::ints({32})}, Shape{32});         // node 4
  const ValueId written = b.call("update_cache.default", {x, state, position}, Shape{1});               // node 5
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

TEST(Rewrite, LeavesClonesAloneWithoutFusion) {
  GraphBuilder b;
  const ValueId x = b.input({4});
  const ValueId clone = b.call("aten.clone.default", {x, nullptr}, Shape{4});
  const ValueId y = b.call("aten.relu.default", {clone}, Shape{4});
  b.call("aten.abs.default", {x}, Shape{4});  // nothing reads it
  EXPECT_EQ(rewritten(b.finish({y}), {.fuse = false}).size(), 2u);
}

}  // namespace
}  // namespace sconce::passes
