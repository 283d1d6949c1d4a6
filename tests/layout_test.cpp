// Which tensors share a buffer, and grids.
#include "planner/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "ops/node_plan.h"
#include "support/graph_builder.h"
#include "support/planned_graph.h"

namespace sconce {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;
using test::Arg;
using test::GraphBuilder;

planner::Layout lay_out(const Graph& graph) {
  std::vector<const ops::OperatorInfo*> operators;
  for (const graph::Node& node : graph.nodes) operators.push_back(ops::find_operator(node.op));
  EXPECT_EQ(std::ranges::count(operators, nullptr), 0);
  return planner::lay_out(graph, operators);
}

// ---- slots ----

// Sums, norms, views and splits of whatever came before, each tensor with a bound of its own.
Graph random_graph(std::mt19937& random) {
  auto pick = [&](size_t below) { return std::uniform_int_distribution<size_t>(0, below - 1)(random); };
  GraphBuilder g;
  std::vector<ValueId> values;
  for (size_t i = 0; i < 1 + pick(3); ++i) values.push_back(g.input({16, static_cast<int64_t>(4 << pick(4))}));
  const size_t nodes = 5 + pick(40);
  while (values.size() < nodes) {
    const ValueId x = values[pick(values.size())];
    const Shape shape = g.bound(x);
    switch (pick(4)) {
      case 0:
        values.push_back(g.call("aten.add.Tensor", {x, x, 1}, shape));
        break;
      case 1:
        values.push_back(g.call("aten.sigmoid.default", {x}, shape));
        break;
      case 2:
        values.push_back(g.call("aten.view_copy.default", {x, Arg::ints({-1, shape[1]})}, shape));
        break;
      case 3: {
        const Shape half{8, shape[1]};
        if (shape[0] != 16) continue;
        for (ValueId part : g.call("aten.split_with_sizes_copy.default", {x, Arg::ints({8, 8}), 0},
                                   std::vector{g.tensor(half), g.tensor(half)}))
          values.push_back(part);
        break;
      }
    }
  }
  std::vector<ValueId> outputs = {values.back()};
  for (size_t i = 0; i < pick(3); ++i) outputs.push_back(values[pick(values.size())]);
  return g.finish(outputs);
}

// Over which nodes a value's bytes must stay, those of its views included: from the node that makes it to the last that
// reads it. Written apart from the planner's own computation.
struct Life {
  int64_t first = INT64_MAX, last = INT64_MIN;
};

std::vector<Life> lives(const Graph& graph, const planner::Layout& layout) {
  std::vector<Life> lives(graph.values.size());
  auto touch = [&](ValueId value, int64_t at) {
    Life& life = lives[layout.root[value]];
    life = {std::min(life.first, at), std::max(life.last, at)};
  };
  for (ValueId input : graph.inputs) touch(input, -1);
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    for (ValueId arg : graph.nodes[n].args) {
      if (const auto* list = std::get_if<graph::ValueList>(&graph.values[arg])) {
        for (ValueId item : list->items) touch(item, static_cast<int64_t>(n));
      } else {
        touch(arg, static_cast<int64_t>(n));
      }
    }
  for (ValueId output : graph.outputs) touch(output, INT64_MAX);
  return lives;
}

TEST(Layout, TensorsThatAreAliveTogetherHaveDifferentSlots) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 200; ++trial) {
    const Graph graph = random_graph(random);
    const planner::Layout layout = lay_out(graph);
    const std::vector<Life> life = lives(graph, layout);
    for (ValueId a = 0; a < graph.values.size(); ++a) {
      if (!graph.tensor(a) || life[a].first > life[a].last) continue;
      ASSERT_LT(layout.slot[a], layout.slot_bytes.size());
      EXPECT_GE(layout.slot_bytes[layout.slot[a]], planner::device_bytes(*graph.tensor(a)));
      for (ValueId b = 0; b < a; ++b) {
        if (!graph.tensor(b) || layout.root[a] == layout.root[b] || layout.slot[a] != layout.slot[b]) continue;
        // Closed intervals: an output may not even take the slot of an input that ends at its node.
        EXPECT_TRUE(life[a].last < life[b].first || life[b].last < life[a].first)
            << "values " << a << " and " << b << " in trial " << trial;
      }
    }
  }
}

TEST(Layout, ReusesSlots) {
  GraphBuilder g;
  ValueId x = g.input({16, 16});
  for (int i = 0; i < 20; ++i) x = g.call("aten.sigmoid.default", {x}, g.bound(x));
  EXPECT_EQ(lay_out(g.finish({x})).slot_bytes.size(), 2u) << "a chain needs two buffers in turn";
}

// ---- aliases ----

TEST(Layout, ReshapesShareTheirInputsBuffer) {
  GraphBuilder g;
  const ValueId x = g.input({2, 8, 4});
  const ValueId flat = g.call("aten.view_copy.default", {x, Arg::ints({-1, 4})}, Shape{16, 4});
  const ValueId column = g.call("aten.unsqueeze_copy.default", {flat, 0}, Shape{1, 16, 4});
  const ValueId y = g.call("aten.sigmoid.default", {column}, Shape{1, 16, 4});
  const planner::Layout layout = lay_out(g.finish({y}));
  EXPECT_EQ(layout.root[flat], x);
  EXPECT_EQ(layout.root[column], x);
  EXPECT_EQ(layout.slot[column], layout.slot[x]);
  EXPECT_NE(layout.slot[y], layout.slot[x]);
}

TEST(Layout, AViewOfAlooserBoundHasABufferOfItsOwn) {
  GraphBuilder g;
  const ValueId x = g.input({8, 4});
  const ValueId view = g.call("aten.view_copy.default", {x, Arg::ints({-1, 4})}, Shape{64, 4});
  EXPECT_EQ(lay_out(g.finish({view})).root[view], view);
}

TEST(Layout, AChangeOfElementTypeIsNoAlias) {
  GraphBuilder g;
  const ValueId x = g.input({8, 4});
  const ValueId whole = g.call("aten._to_copy.default", {x}, g.tensor({8, 4}, Dtype::i32));
  const ValueId same = g.call("aten._to_copy.default", {x}, g.tensor({8, 4}, Dtype::f64));
  const planner::Layout layout = lay_out(g.finish({whole, same}));
  EXPECT_EQ(layout.root[whole], whole);
  EXPECT_EQ(layout.root[same], x) << "an f64 is held as an f32";
}

TEST(Layout, AViewOfWhatIsWrittenInPlaceIsACopy) {
  GraphBuilder g;
  const ValueId value = g.input({1, 1, 2, 4}), cache = g.input({1, 8, 2, 4});
  const ValueId before = g.call("aten.view_copy.default", {cache, Arg::ints({16, 4})}, Shape{16, 4});
  g.call("update_cache.default", {value, cache, 3}, Shape{1});
  const ValueId after = g.call("aten.view_copy.default", {cache, Arg::ints({16, 4})}, Shape{16, 4});
  const Graph graph = g.finish({before, after});
  const planner::Layout layout = lay_out(graph);
  EXPECT_EQ(layout.root[before], before);
  EXPECT_EQ(layout.root[after], after);
  test::PlannedGraph planned(graph);
  ASSERT_FALSE(planned.load_error()) << planned.load_error()->to_string();
  EXPECT_TRUE(planned.run({test::live({1, 1, 2, 4}), test::live({1, 8, 2, 4})}));
}

// ---- grids ----

uint64_t workgroups_in(const std::array<uint32_t, 3>& grid) {
  return uint64_t{grid[0]} * grid[1] * grid[2];
}

TEST(FoldGrid, KeepsSmallCountsInOneDim) {
  for (uint64_t count : {1, 65534, 65535}) {
    auto grid = ops::fold_grid(count, 65535);
    ASSERT_TRUE(grid);
    EXPECT_EQ(*grid, (std::array<uint32_t, 3>{static_cast<uint32_t>(count), 1, 1}));
  }
}

TEST(FoldGrid, FoldsToANearSquareWithLittleWaste) {
  for (uint64_t count : {65536ull, 131070ull, 131071ull, 131072ull, 2097152ull, 65535ull * 65535}) {
    auto grid = ops::fold_grid(count, 65535);
    ASSERT_TRUE(grid) << count;
    auto [x, y, z] = *grid;
    EXPECT_EQ(z, 1u) << count;
    EXPECT_LE(std::max(x, y), 65535u) << count;
    EXPECT_GE(workgroups_in(*grid), count);
    EXPECT_LT(workgroups_in(*grid) - count, 2 * std::ceil(std::sqrt(count))) << count;
    EXPECT_LE(std::max(x, y) - std::min(x, y), 1 + std::min(x, y) / 100) << count << " is not near-square";
  }
}

TEST(FoldGrid, HoldsEveryCountUpToTheCubeOfTheLimit) {
  std::mt19937_64 random(3);
  for (uint64_t limit : {1, 2, 3, 8, 255, 65535}) {
    const uint64_t most = limit * limit * limit;
    std::vector<uint64_t> counts = {1, limit, limit * limit, most};
    for (int i = 0; i < 500; ++i) counts.push_back(1 + random() % most);
    for (uint64_t count : counts) {
      auto grid = ops::fold_grid(count, static_cast<uint32_t>(limit));
      ASSERT_TRUE(grid) << count << " at " << limit;
      EXPECT_GE(workgroups_in(*grid), count) << limit;
      EXPECT_LE(std::ranges::max(*grid), limit) << count;
      EXPECT_GE(std::ranges::min(*grid), 1u) << count;
    }
    auto above = ops::fold_grid(most + 1, static_cast<uint32_t>(limit));
    ASSERT_FALSE(above);
    EXPECT_EQ(above.error().code, ErrorCode::unsupported);
  }
}

}  // namespace
}  // namespace sconce
