#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "graph/build.h"
#include "graph/check.h"
#include "support/graph_text.h"
#include "support/memory_source.h"

namespace sconce {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

graph::Graph graph_of(const std::string& fixture) {
  auto program = test::read_fixture("program/" + fixture + ".pte");
  EXPECT_TRUE(program) << program.error().to_string();
  if (!program) return {};
  auto graph = graph::build_graph(*program, "forward");
  EXPECT_TRUE(graph) << graph.error().to_string();
  return graph ? *std::move(graph) : graph::Graph{};
}

std::vector<std::string> lines(const graph::Graph& graph) {
  std::vector<std::string> result;
  for (const graph::Node& node : graph.nodes) result.push_back(test::text(graph, node));
  return result;
}

const graph::TensorValue& tensor(const graph::Graph& graph, graph::ValueId id) {
  return *graph.tensor(id);
}

TEST(BuildGraph, JoinsDelegatesAndTheKernelCallsBetweenThem) {
  auto expected = ElementsAre("aten.pow.Tensor_Scalar(%0, 2) -> %2",                   //
                              "aten.mean.dim(%2, [1], true, null) -> %6",              // ends the first delegate
                              "aten.add.Scalar(%6, 1.1920928955078125e-07, 1) -> %9",  // a kernel call of the method
                              "aten.rsqrt.default(%9) -> %11",                         // begins the second delegate
                              "aten.mul.Tensor(%0, %11) -> %12",                       //
                              "aten.mul.Tensor(%12, #10) -> %13",                      // #10 was prepacked
                              "aten.linear.default(%13, #14, #15) -> %16",             //
                              "aten.sigmoid.default(%16) -> %17",                      //
                              "aten.mul.Tensor(%17, %0) -> %18",                       //
                              "aten.add.Tensor(%0, %18, 1) -> %20");
  graph::Graph graph = graph_of("split");
  EXPECT_THAT(lines(graph), expected);
  EXPECT_THAT(graph.inputs, ElementsAre(0));
  EXPECT_THAT(graph.outputs, ElementsAre(20));
  EXPECT_EQ(tensor(graph, 0).bound, (Shape{16, 8}));
  EXPECT_EQ(graph.nodes[1].name, "0.1");
  EXPECT_EQ(graph.nodes[2].name, "k1");
  EXPECT_THAT(lines(graph_of("inline_delegates")), expected) << "blobs inside the flatbuffer make the same graph";
}

TEST(BuildGraph, KeepsSymIntsByTheirOrigin) {
  graph::Graph graph = graph_of("symints");
  EXPECT_THAT(lines(graph), ElementsAre("sym_size.int(%0, 1) -> $4",                       //
                                        "et_vk.select_as_symint.default(%1, 0, 0) -> $6",  //
                                        "add($6, $4) -> $7",                               //
                                        "aten.slice_copy.Tensor(#2, 0, $6, $7, 1) -> %8",  //
                                        "aten.add.Tensor(%0, %8, 1) -> %9",                //
                                        "aten.view_copy.default(%9, (2, $4, 2, 2)) -> %12"));
  EXPECT_THAT(graph.input_dtypes, ElementsAre(Dtype::f32, Dtype::i64));
  EXPECT_EQ(tensor(graph, 1).dtype, Dtype::i32) << "an i64 input is held as i32";
}

TEST(BuildGraph, TakesSymIntsAsInputsAndOutputs) {
  graph::Graph graph = graph_of("symint_input");
  EXPECT_THAT(lines(graph), ElementsAre("aten.expand_copy.default(%0, ($1, 4), false) -> %5",  //
                                        "aten.mul.Tensor(%5, #6) -> %7",                       //
                                        "add($1, 1) -> $9"));
  EXPECT_THAT(graph.inputs, ElementsAre(0, 1));
  EXPECT_THAT(graph.outputs, ElementsAre(7, 9));
}

// A buffer that is read before anything writes it is state, also through a view that the exporter elided; after the
// write the same place in memory is read through another elided view.
TEST(BuildGraph, FindsMutableBuffersOfTheMethod) {
  auto expected = ElementsAre("aten.view_copy.default(@1, [8]) -> %3",     //
                              "aten.mul.Tensor(%3, #4) -> %5",             //
                              "aten.add.Tensor(@1, %0, 1) -> %7",          //
                              "aten.view_copy.default(%7, [4, 2]) -> %9",  //
                              "aten.mul.Tensor(%9, #10) -> %11",           //
                              "aten.copy_.default(@1, %7, false) -> @1");
  graph::Graph zeros = graph_of("mutable_buffer");
  EXPECT_THAT(lines(zeros), expected);
  EXPECT_FALSE(tensor(zeros, 1).constant) << "without first contents the state begins as zeros";
  graph::Graph initialized = graph_of("initialized_buffer");
  EXPECT_THAT(lines(initialized), expected);
  ASSERT_TRUE(tensor(initialized, 1).constant);
  EXPECT_EQ(tensor(initialized, 1).constant->range.size, 32u);
}

TEST(BuildGraph, MakesAStateOfEachCacheThoughTheFileKeepsTheirZerosOnce) {
  graph::Graph graph = graph_of("kv_caches");
  std::set<graph::ValueId> states;
  std::set<std::string> keys;
  for (const graph::Node& node : graph.nodes) {
    if (node.op != "sdpa_with_kv_cache.default") continue;
    for (size_t arg : {3, 4}) {
      EXPECT_TRUE(tensor(graph, node.args[arg]).is_state);
      states.insert(node.args[arg]);
      keys.insert(tensor(graph, node.args[arg]).constant->key);
    }
  }
  EXPECT_EQ(states.size(), 4u);
  EXPECT_EQ(keys.size(), 1u);
}

TEST(BuildGraph, GivesKernelCallsTheDelegatesNamesAndArguments) {
  EXPECT_THAT(lines(graph_of("kernels")),
              ElementsAre("aten.native_layer_norm.default(%0, [8], #3, #4, 1e-05) -> (%6, %7, %8)",   //
                          "aten.split_with_sizes_copy.default(%6, [2, 2, 4], 1) -> (%12, %13, %14)",  //
                          "aten.mul.Tensor(%13, #16) -> %17",                                         //
                          "aten.sub.Tensor(%12, %17, 1) -> %19",                                      //
                          "aten.cat.default((%19, %14), 1) -> %22",                                   //
                          "aten.index_select.default(%22, 0, #24) -> %25",                            //
                          "aten.permute_copy.default(%25, [1, 0]) -> %27",                            //
                          "dim_order_ops._clone_dim_order.default(%27, false, [0, 1]) -> %30",        //
                          "aten.full.default([3, 6], 0, null, null, null, null) -> %37",              //
                          "aten.view_copy.default(%30, [3, 6]) -> %39",                               // elided
                          "aten.where.self(%1, %39, %37) -> %40",                                     //
                          "aten.pow.Tensor_Scalar(%40, 2) -> %42",                                    //
                          "aten.topk.default(%42, 2, -1, true, true) -> (%47, %48)",                  //
                          "aten.mean.dim(%42, [1], true, null) -> %53",                               //
                          "dim_order_ops._to_dim_order_copy.default(%42, null, null, null, null, false, [0, 1]) -> %60",
                          "dim_order_ops._to_dim_order_copy.default(#61, null, null, null, null, false, []) -> %68",
                          "aten.add.Tensor(%60, %68, 1) -> %70",                             //
                          "aten.sum.dim_IntList(%42, [0], false, null) -> %74",              //
                          "dim_order_ops._clone_dim_order.default(#75, false, [0]) -> %78",  //
                          "aten.index.Tensor(%42, (%78)) -> %80"));
}

TEST(BuildGraph, CastsWhereADelegateComputesInHalfPrecision) {
  graph::Graph graph = graph_of("half_precision");
  ASSERT_EQ(graph.nodes.size(), 5u);
  EXPECT_EQ(graph.nodes.front().op, "aten._to_copy.default");
  EXPECT_EQ(tensor(graph, graph.nodes.front().args.back()).dtype, Dtype::f16);
  EXPECT_EQ(tensor(graph, graph.outputs[0]).dtype, Dtype::f32);
}

TEST(BuildGraph, NamesTheMethodsWhenOneIsMissing) {
  auto program = test::read_fixture("program/split.pte");
  auto graph = graph::build_graph(*program, "encode");
  ASSERT_FALSE(graph);
  EXPECT_EQ(graph.error().code, ErrorCode::not_found);
  EXPECT_THAT(graph.error().message, HasSubstr("it has: forward, get_max_rows"));
}

// ---- programs made by hand ----

program::TensorSpec tensor_spec(Shape bound, std::vector<uint8_t> dim_order = {0, 1, 2, 3}) {
  dim_order.resize(bound.rank());
  return {.dtype = Dtype::f32, .bound = bound, .dim_order = std::move(dim_order)};
}

program::Program program_of(program::Method method) {
  method.name = "forward";
  return {.methods = {std::move(method)}};
}

Result<graph::Graph> build(program::Method method) {
  return graph::build_graph(program_of(std::move(method)), "forward");
}

// Calls a blob on inputs 0, 1, ... and returns its outputs; `calls` times, each into tensors of its own.
program::Method method_around(program::Blob blob, size_t calls = 1) {
  program::Method method;
  const Shape bound = std::get<program::BlobTensor>(blob.values[0]).bound;
  auto add = [&] {
    method.values.push_back(tensor_spec(bound));
    return static_cast<program::EValueId>(method.values.size() - 1);
  };
  for (size_t i = 0; i < blob.inputs.size(); ++i) method.inputs.push_back(add());
  for (size_t call = 0; call < calls; ++call) {
    std::vector<program::EValueId> args = method.inputs;
    for (size_t i = 0; i < blob.outputs.size(); ++i) {
      method.outputs.push_back(add());
      args.push_back(method.outputs.back());
    }
    method.instructions.push_back(program::DelegateCall{0, args});
  }
  method.delegates.push_back({"VulkanBackend", std::move(blob)});
  return method;
}

program::BlobTensor blob_tensor(bool constant = false) {
  program::BlobTensor tensor{.dtype = Dtype::f32, .bound = Shape{1, 4}};
  if (constant) tensor.constant = program::Constant{{0, 64, 16}, "key"};
  return tensor;
}

// update_cache(value 0, cache, position 2) for each of the caches; value 3 is a dead output of the first.
program::Blob cache_blob(std::vector<program::BlobValueId> caches) {
  program::Blob blob;
  blob.values = {blob_tensor(), blob_tensor(true), int64_t{0}, blob_tensor(), blob_tensor(), blob_tensor(true)};
  blob.inputs = {0};
  blob.outputs = {3};
  for (uint32_t i = 0; i < caches.size(); ++i)
    blob.chain.push_back({i, "update_cache.default", {0, caches[i], 2, 3 + i}});
  return blob;
}

TEST(BuildGraph, SharesStateByValueNotByContents) {
  auto one = build(method_around(cache_blob({1, 1})));
  ASSERT_TRUE(one) << one.error().to_string();
  EXPECT_EQ(one->nodes[0].args[1], one->nodes[1].args[1]) << "one value is one state, also in two nodes";
  EXPECT_TRUE(tensor(*one, one->nodes[0].args[1]).is_state);

  auto two = build(method_around(cache_blob({1, 5})));
  ASSERT_TRUE(two) << two.error().to_string();
  EXPECT_NE(two->nodes[0].args[1], two->nodes[1].args[1]) << "two values with equal contents are two states";

  auto twice = build(method_around(cache_blob({1}), 2));
  ASSERT_TRUE(twice) << twice.error().to_string();
  EXPECT_EQ(twice->nodes[0].args[1], twice->nodes[1].args[1]) << "a delegate that is called twice keeps its state";
  EXPECT_NE(twice->outputs[0], twice->outputs[1]);
}

TEST(BuildGraph, RefusesANodeThatWritesOneStateTwice) {
  program::Blob blob;
  blob.values = {blob_tensor(), blob_tensor(true), program::None{}, blob_tensor()};
  blob.inputs = {0};
  blob.outputs = {3};
  blob.chain = {{7, "sdpa_with_kv_cache.default", {0, 0, 0, 1, 1, 2, 2, 2, 2, 2, 2, 3}}};
  auto graph = build(method_around(blob));
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().message, HasSubstr("writes value"));
}

TEST(BuildGraph, NamesWhatIsWrongInADelegateCall) {
  using Method = program::Method;
  auto blob_of = [](Method& m) -> program::Blob& { return *m.delegates[0].blob; };
  struct Case {
    std::function<void(Method&)> change;
    const char* message;
  };
  const Case cases[] = {
      {[](Method& m) {
         m.delegates[0] = {"XnnpackBackend", std::nullopt};
       },
       "made for the backend 'XnnpackBackend'"},
      {[](Method& m) { std::get<program::DelegateCall>(m.instructions[0]).args.pop_back(); },
       "takes 1 inputs and gives 1 outputs, but is called with 1 values"},
      {[](Method& m) { m.values[0] = tensor_spec(Shape{4}); }, "method and its delegate disagree"},
      {[](Method& m) { m.values[0] = int64_t{3}; }, "SymInt and tensor of bound [1, 4]"},
      {[&](Method& m) { blob_of(m).chain[0].args[0] = 4; }, "is read before anything makes it"},
      {[&](Method& m) { blob_of(m).chain.push_back(blob_of(m).chain[0]); }, "is made by something else already"},
      {[&](Method& m) {
         blob_of(m).chain[0].args.back() = 2;
         blob_of(m).values[2] = 0.5;
       },
       "which nothing may write"},
      {[&](Method& m) { blob_of(m).values[2] = program::BlobValueList{{2}}; }, "holds the list 2"},
      {[](Method& m) {
         m.instructions.insert(m.instructions.begin(), program::JumpIfFalse{0, 1});
       },
       "branches on a value"},
      {[](Method& m) {
         m.values[0] = tensor_spec(Shape{2, 3, 4, 5}, {0, 2, 3, 1});
       },
       "stored in dim order [0, 2, 3, 1]"},
  };
  for (const Case& c : cases) {
    Method method = method_around(cache_blob({1}));
    c.change(method);
    auto graph = build(std::move(method));
    ASSERT_FALSE(graph) << c.message;
    EXPECT_THAT(graph.error().to_string(), HasSubstr(c.message));
    EXPECT_THAT(graph.error().to_string(), HasSubstr("method forward"));
  }
}

TEST(BuildGraph, TakesTheSmallerOfTwoBounds) {
  program::Method method = method_around(cache_blob({1}));
  method.values[0] = tensor_spec(Shape{3, 2});
  auto graph = build(std::move(method));
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(tensor(*graph, graph->inputs[0]).bound, (Shape{1, 2}));
}

TEST(BuildGraph, MakesMovesAnotherNameAndFreesNothing) {
  program::Method method;
  method.values = {tensor_spec(Shape{2}), tensor_spec(Shape{2}), tensor_spec(Shape{2})};
  method.inputs = {0};
  method.outputs = {2};
  method.instructions = {program::MoveCall{0, 1}, program::KernelCall{"my::op", "out", {1, 2, 2}},
                         program::FreeCall{1}};
  auto graph = build(method);
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_THAT(lines(*graph), ElementsAre("my.op.default(%0) -> %1")) << "an unknown operator keeps its name";
}

TEST(BuildGraph, ReadsNoTensorBeforeItIsWritten) {
  program::Method method;
  method.values = {tensor_spec(Shape{2}), tensor_spec(Shape{2})};
  method.outputs = {1};
  method.instructions = {program::KernelCall{"aten::relu", "out", {0, 1, 1}}};
  auto graph = build(method);
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.error().message, HasSubstr("is read before an instruction writes it"));
}

}  // namespace
}  // namespace sconce
