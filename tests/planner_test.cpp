// Planning live shapes, without a GPU: every planned Step also passes the check executor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "support/capability_sets.h"
#include "support/graph_builder.h"
#include "support/planned_graph.h"
#include "support/step_text.h"

namespace sconce {
namespace {

using graph::ValueId;
using planner::Input;
using test::Arg;
using test::GraphBuilder;
using test::live;
using test::PlannedGraph;
using ::testing::HasSubstr;

// x + rms(rms(x)): the operands of the sum lie at different depths.
graph::Graph residual_graph() {
  GraphBuilder g;
  const ValueId x = g.input({1, 128, 64}), weight = g.constant({64}, "weight");
  const ValueId once = g.call("et_vk.rms_norm.default", {x, weight, 1e-6}, g.bound(x));
  const ValueId twice = g.call("et_vk.rms_norm.default", {once, weight, 1e-6}, g.bound(x));
  return g.finish({g.call("aten.add.Tensor", {x, twice, 1}, g.bound(x))});
}

// sym_size of a tensor that changes in the same run, in a chain of arithmetic, decides how much of a table is used:
// cat(x, y)[...] + table[n - 2 : 2n - 2], where n is the number of rows of the cat.
graph::Graph symint_graph() {
  GraphBuilder g;
  const ValueId x = g.input({16, 8}), y = g.input({16, 8}), table = g.constant({64, 8}, "table");
  const ValueId rows = g.call("aten.cat.default", {std::vector{x, y}, 0}, Shape{32, 8});
  const ValueId n = g.call_symint("sym_size.int", {rows, 0});
  const ValueId start = g.call_symint("sub", {n, 2});
  const ValueId end = g.call_symint("add", {start, n});
  const ValueId part = g.call("aten.slice_copy.Tensor", {table, 0, start, end, 1}, Shape{32, 8});
  return g.finish({g.call("aten.mul.Tensor", {rows, part}, Shape{32, 8}), n});
}

// A 4-bit linear between norms, with a state: routes change with the number of rows, and the position moves alone.
graph::Graph attention_graph(int64_t capacity = 64) {
  GraphBuilder g;
  const ValueId x = g.input({1, 32, 64}), position = g.symint_input();
  const ValueId keys = g.state({1, capacity, 2, 16}), values = g.state({1, capacity, 2, 16}),
                weight = g.constant({64}, "norm");
  const ValueId normed = g.call("et_vk.rms_norm.default", {x, weight, 1e-6}, g.bound(x));
  auto project = [&](const char* name, int64_t width) {
    return g.call("et_vk.linear_q4gsw.default",
                  {normed, g.constant({width, 32}, std::string("w") + name, Dtype::u8),
                   g.constant({2, width}, std::string("s") + name), 32, nullptr},
                  Shape{1, 32, width});
  };
  const ValueId rows = g.call_symint("sym_size.int", {x, 1});
  auto heads = [&](ValueId projected, int64_t count) {
    const ValueId size = g.call_symint("sym_size.int", {projected, 1});
    return g.call("aten.view_copy.default",
                  {projected, std::vector<ValueId>{g.literal(1), size, g.literal(count), g.literal(16)}},
                  Shape{1, 32, count, 16});
  };
  const ValueId q = heads(project("q", 64), 4), k = heads(project("k", 32), 2), v = heads(project("v", 32), 2);
  const ValueId attended = g.call("sdpa_with_kv_cache.default",
                                  {q, k, v, keys, values, position, rows, nullptr, 0.0, true, nullptr}, g.bound(q));
  const ValueId flat =
      g.call("aten.view_copy.default", {attended, std::vector<ValueId>{g.literal(1), rows, g.literal(64)}}, g.bound(x));
  return g.finish({g.call("aten.add.Tensor", {x, flat, 1}, g.bound(x))});
}

// The sum of two byte tensors takes scratch memory; the sigmoid before it does not, and the second sum takes less.
graph::Graph scratch_graph() {
  GraphBuilder g;
  const ValueId x = g.input({265, 8}, Dtype::i8), y = g.input({265, 8});
  const ValueId small = g.call("aten.slice_copy.Tensor", {x, 1, 0, 4, 1}, g.tensor({265, 4}, Dtype::i8));
  const ValueId less = g.call("aten.add.Tensor", {small, small, 1}, g.tensor({265, 4}, Dtype::i8));
  const ValueId between = g.call("aten.sigmoid.default", {y}, g.bound(y));
  const ValueId more = g.call("aten.add.Tensor", {x, x, 1}, g.tensor({265, 8}, Dtype::i8));
  return g.finish({less, between, g.call("aten.add.Tensor", {more, more, 1}, g.tensor({265, 8}, Dtype::i8))});
}

// The GPU computes how many rows of a table are used: the host reads -x[0] in the middle of the run.
graph::Graph host_wait_graph() {
  GraphBuilder g;
  const ValueId x = g.input({1}, Dtype::i64), y = g.input({16, 8}), table = g.constant({64, 8}, "table");
  const ValueId twice = g.call("aten.add.Tensor", {y, y, 1}, g.bound(y));
  const ValueId negative = g.call("aten.neg.default", {x}, g.tensor({1}, Dtype::i64));
  const ValueId n = g.call_symint("et_vk.select_as_symint.default", {negative, 0, 0});
  const ValueId part = g.call("aten.slice_copy.Tensor", {table, 0, 0, n, 1}, Shape{16, 8});
  return g.finish({g.call("aten.add.Tensor", {twice, part, 1}, g.bound(y)), n});
}

Input symint(int64_t value) {
  return {{}, value, {}};
}

// ---- live shapes ----

TEST(LivePlanner, AddsOperandsOfDifferentDepthAtEveryLength) {
  PlannedGraph reused(residual_graph());
  for (int64_t length : {128, 64, 7, 1, 64, 128}) {
    ASSERT_TRUE(reused.run({live({1, length, 64})}));
    const ValueId output = reused.planner->method().graph.outputs[0];
    EXPECT_EQ(reused.planner->shape(output), (Shape{1, length, 64}));
  }
}

TEST(LivePlanner, PlansOnlyWhatChanged) {
  PlannedGraph planned(attention_graph(192));
  ASSERT_TRUE(planned.run({live({1, 8, 64}), symint(0)}));
  EXPECT_EQ(planned.planner->planned_nodes(), planned.planner->method().graph.nodes.size());
  ASSERT_TRUE(planned.run({live({1, 8, 64}), symint(0)}));
  EXPECT_EQ(planned.planner->planned_nodes(), 0u);
  ASSERT_TRUE(planned.run({live({1, 8, 64}), symint(8)}));
  EXPECT_EQ(planned.planner->planned_nodes(), 0u) << "attention looks the position up";
  EXPECT_EQ(planned.step.dirty_params.end - planned.step.dirty_params.begin, 4u) << "an entry of the table";
  ASSERT_TRUE(planned.run({live({1, 8, 64}), symint(64)}));
  EXPECT_EQ(planned.planner->planned_nodes(), 1u) << "more keys are split in another way";
}

// A reset is submitted between two runs, which may be at the same position.
TEST(StepWriter, AStepWithoutDispatchesLeavesTheParametersAlone) {
  record::Tables tables;
  planner::StepWriter writer(tables);
  writer.clear(planner::add_buffer(tables, 64, record::BufferUse::state), 64);
  EXPECT_TRUE(writer.finish().dirty_params.empty());
}

// A plan that holds for a range of positions must say exactly what a plan made at each of them says.
TEST(LivePlanner, HeldPlansEqualFreshOnes) {
  PlannedGraph reused(attention_graph(192));
  for (int64_t position : {0, 1, 2, 55, 56, 57, 100, 3, 120, 119}) {
    PlannedGraph fresh(attention_graph(192));
    ASSERT_TRUE(reused.run({live({1, 8, 64}), symint(position)}));
    ASSERT_TRUE(fresh.run({live({1, 8, 64}), symint(position)}));
    ASSERT_EQ(reused.step.commands.size(), fresh.step.commands.size());
    const size_t bytes = fresh.step.params.size();
    ASSERT_GE(reused.step.params.size(), bytes);
    EXPECT_EQ(std::memcmp(reused.step.params.data(), fresh.step.params.data(), bytes), 0) << "position " << position;
    for (size_t i = 0; i < fresh.step.commands.size(); ++i)
      EXPECT_TRUE(std::ranges::equal(reused.step.commands[i].grid, fresh.step.commands[i].grid)) << i;
  }
}

TEST(LivePlanner, FollowsSymIntsThroughTensorsOfTheSameRun) {
  PlannedGraph planned(symint_graph());
  const graph::Graph& graph = planned.planner->method().graph;
  for (auto [a, b] : {std::pair{16, 16}, {1, 1}, {3, 4}, {2, 16}, {16, 2}, {16, 16}}) {
    auto run = planned.run({live({a, 8}), live({b, 8})});
    ASSERT_TRUE(run) << run.error().to_string();
    EXPECT_EQ(planned.planner->shape(graph.outputs[0]), (Shape{a + b, 8}));
    EXPECT_EQ(planned.planner->symint(graph.outputs[1]), a + b);
  }
}

TEST(LivePlanner, PlansEmptyTensors) {
  PlannedGraph planned(residual_graph());
  ASSERT_TRUE(planned.run({live({1, 0, 64})}));
  EXPECT_EQ(std::ranges::count(planned.step.commands, record::CommandKind::dispatch, &record::Command::kind), 0);
  ASSERT_TRUE(planned.run({live({1, 5, 64})}));
  EXPECT_EQ(std::ranges::count(planned.step.commands, record::CommandKind::dispatch, &record::Command::kind), 3);
}

// ---- failing runs ----

TEST(LivePlanner, RefusesInputsOutsideTheirBounds) {
  PlannedGraph planned(residual_graph());
  auto message = [&](std::vector<Input> inputs) {
    auto run = planned.run(inputs);
    return run ? "no error" : run.error().message;
  };
  EXPECT_THAT(message({live({1, 129, 64})}), HasSubstr("Input 0 has 129 in dim 1, but its upper bound there is 128"));
  EXPECT_THAT(message({live({128, 64})}), HasSubstr("Input 0 has shape [128, 64], but the model takes 3 dims"));
  EXPECT_THAT(message({}), HasSubstr("takes 1 inputs, but 0 were given"));
}

// What a run leaves behind when it fails in the middle: nothing that the next one could notice.
void expect_unchanged_by(std::vector<Input> failing, PlannedGraph& planned, std::vector<Input> good) {
  ASSERT_TRUE(planned.run(good));
  const record::Step before = planned.step;
  const record::Tables tables = planned.tables;
  ASSERT_FALSE(planned.run(failing));
  EXPECT_EQ(test::text(planned.tables, planned.step), test::text(tables, before));
  EXPECT_EQ(planned.step.params, before.params);
  ASSERT_GE(planned.tables.buffers.size(), tables.buffers.size());
  for (size_t b = 0; b < tables.buffers.size(); ++b) EXPECT_EQ(planned.tables.buffers[b].size, tables.buffers[b].size);
  ASSERT_TRUE(planned.run(good));
  EXPECT_EQ(planned.planner->planned_nodes(), 0u) << "the good run's plans are still in place";
  EXPECT_EQ(test::text(planned.tables, planned.step), test::text(tables, before));
}

TEST(LivePlanner, AFailedRunChangesNothing) {
  PlannedGraph planned(attention_graph());
  // The last nodes see that the cache is full, after all others have been planned at the new length.
  expect_unchanged_by({live({1, 32, 64}), symint(40)}, planned, {live({1, 7, 64}), symint(3)});
  expect_unchanged_by({live({1, 33, 64}), symint(0)}, planned, {live({1, 5, 64}), symint(3)});
  expect_unchanged_by({live({1, 0, 64}), symint(65)}, planned, {live({1, 1, 64}), symint(63)});
}

TEST(LivePlanner, RunsAfterAFirstRunThatFailed) {
  PlannedGraph planned(attention_graph()), fresh(attention_graph());
  ASSERT_FALSE(planned.run({live({1, 32, 64}), symint(40)}));
  ASSERT_TRUE(planned.run({live({1, 4, 64}), symint(0)}));
  ASSERT_TRUE(fresh.run({live({1, 4, 64}), symint(0)}));
  EXPECT_EQ(test::text(planned.tables, planned.step), test::text(fresh.tables, fresh.step));
}

// ---- scratch ----

std::vector<Input> bytes_and_floats(int64_t rows) {
  return {live({rows, 8}), live({rows, 8})};
}

uint64_t scratch_bytes(const record::Tables& tables) {
  uint64_t total = 0;
  for (const record::Buffer& buffer : tables.buffers)
    if (buffer.use == record::BufferUse::scratch) total += buffer.size;
  return total;
}

TEST(LivePlanner, GrowsScratchAndNeverShrinksIt) {
  PlannedGraph planned(scratch_graph());
  uint64_t before = 0;
  for (int64_t rows : {1, 64, 3, 65, 256, 1, 256}) {
    auto run = planned.run(bytes_and_floats(rows));
    ASSERT_TRUE(run) << run.error().to_string();
    EXPECT_GE(scratch_bytes(planned.tables), before);
    before = scratch_bytes(planned.tables);
  }
  const size_t buffers = planned.tables.buffers.size();
  for (int64_t rows : {256, 100, 256}) ASSERT_TRUE(planned.run(bytes_and_floats(rows)));
  EXPECT_EQ(planned.tables.buffers.size(), buffers) << "no buffer is made once scratch is large enough";
}

TEST(LivePlanner, ScratchGrowsNoLargerThanADeviceBinds) {
  record::Capabilities capabilities;
  capabilities.max_storage_binding_bytes = 8500;  // the next power of two would be too large
  PlannedGraph planned(scratch_graph(), capabilities);
  ASSERT_FALSE(planned.load_error()) << planned.load_error()->to_string();
  EXPECT_TRUE(planned.run(bytes_and_floats(265)));
}

TEST(LivePlanner, ScratchThatGrewInAFailedRunIsUsedByTheNext) {
  PlannedGraph planned(scratch_graph());
  ASSERT_TRUE(planned.run(bytes_and_floats(2)));
  // Planned at 200 rows, and taken back before it was committed.
  ASSERT_TRUE(planned.planner->begin(bytes_and_floats(200)));
  ASSERT_TRUE(planned.planner->plan());
  planned.planner->roll_back();
  PlannedGraph fresh(scratch_graph());
  ASSERT_TRUE(planned.run(bytes_and_floats(2)));
  ASSERT_TRUE(fresh.run(bytes_and_floats(2)));
  EXPECT_EQ(test::text(planned.tables, planned.step), test::text(fresh.tables, fresh.step));
}

// ---- phases ----

TEST(LivePlanner, EndsAPhaseWhereTheHostMustRead) {
  PlannedGraph planned(host_wait_graph());
  const graph::Graph& graph = planned.planner->method().graph;
  for (int64_t rows : {5, 16, 1, 5}) {
    auto run = planned.run({{{1}, 0, {-rows}}, live({rows, 8})}, {{rows}});
    ASSERT_TRUE(run) << run.error().to_string();
    ASSERT_EQ(planned.step.phases.size(), 2u);
    ASSERT_EQ(planned.step.phases[0].read_backs.size(), 1u);
    EXPECT_EQ(planned.step.phases[0].read_backs[0].size, 4u);
    EXPECT_EQ(planned.planner->shape(graph.outputs[0]), (Shape{rows, 8}));
    EXPECT_EQ(planned.planner->symint(graph.outputs[1]), rows);
  }
}

TEST(LivePlanner, RunsAgainAfterALaterPhaseFailed) {
  PlannedGraph planned(host_wait_graph()), fresh(host_wait_graph());
  auto run = [](PlannedGraph& graph, int64_t rows, int64_t read) {
    return graph.run({{{1}, 0, {-read}}, live({rows, 8})}, {{read}});
  };
  ASSERT_TRUE(run(planned, 5, 5));
  EXPECT_FALSE(run(planned, 7, 3)) << "7 rows and 3 rows do not broadcast";
  ASSERT_TRUE(run(planned, 7, 7));
  ASSERT_TRUE(run(fresh, 7, 7));
  EXPECT_EQ(test::text(planned.tables, planned.step), test::text(fresh.tables, fresh.step));
}

// ---- patching a Step against writing it anew ----

struct Sequence {
  const char* name;
  graph::Graph (*graph)();
  std::vector<Input> (*inputs)(std::mt19937& random);  // some of them beyond what the graph allows
};

void PrintTo(const Sequence& sequence, std::ostream* out) {
  *out << sequence.name;
}

int64_t pick(std::mt19937& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

class PlannerSequence : public testing::TestWithParam<Sequence> {};

TEST_P(PlannerSequence, AReusedPlannerWritesTheStepOfAFreshOne) {
  std::mt19937 random(7);
  PlannedGraph reused(GetParam().graph());
  reused.warm_up();
  int succeeded = 0;
  for (int i = 0; i < 60; ++i) {
    const std::vector<Input> inputs = GetParam().inputs(random);
    PlannedGraph fresh(GetParam().graph());
    auto reused_run = reused.run(inputs), fresh_run = fresh.run(inputs);
    ASSERT_EQ(reused_run.has_value(), fresh_run.has_value()) << (reused_run ? "" : reused_run.error().to_string());
    if (!fresh_run) {
      EXPECT_EQ(reused_run.error().to_string(), fresh_run.error().to_string());
      continue;
    }
    ++succeeded;
    ASSERT_EQ(test::text(reused.tables, reused.step), test::text(fresh.tables, fresh.step)) << "run " << i;
    for (size_t v = 0; v < fresh.planner->method().graph.values.size(); ++v)
      EXPECT_EQ(reused.planner->shape(v), fresh.planner->shape(v)) << "value " << v;
  }
  EXPECT_GT(succeeded, 20);
  EXPECT_LT(succeeded, 60);
}

const Sequence kSequences[] = {
    {"Residual", residual_graph,
     [](std::mt19937& r) {
       return std::vector{live({1, pick(r, 0, 150), 64})};
     }},
    {"SymInts", symint_graph,
     [](std::mt19937& r) {
       return std::vector{live({pick(r, 0, 18), 8}), live({pick(r, 0, 16), 8})};
     }},
    {"Attention", [] { return attention_graph(); },
     [](std::mt19937& r) {
       return std::vector{live({1, pick(r, 0, 32), 64}), symint(pick(r, -1, 50))};
     }},
};
INSTANTIATE_TEST_SUITE_P(All, PlannerSequence, testing::ValuesIn(kSequences),
                         [](const auto& info) { return info.param.name; });

// ---- devices ----

TEST(LivePlanner, WritesValidStepsForEveryDevice) {
  for (const test::CapabilitySet& set : test::all_capability_sets()) {
    SCOPED_TRACE(set.name);
    for (const Sequence& sequence : kSequences) {
      SCOPED_TRACE(sequence.name);
      PlannedGraph planned(sequence.graph(), set.capabilities);
      ASSERT_FALSE(planned.load_error()) << planned.load_error()->to_string();
      planned.warm_up();
      std::mt19937 random(11);
      for (int i = 0; i < 5; ++i) (void)planned.run(sequence.inputs(random));
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace sconce
