#include "runtime/generation_method.h"

#include <algorithm>

namespace sconce::runtime {

Result<std::shared_ptr<const planner::Method>> add_sampling(const Model& model, const planner::Method& method) {
  graph::Graph graph = method.graph;
  const graph::ValueId tokens = graph.inputs[0], logits = graph.outputs[0];
  std::get<graph::TensorValue>(graph.values[tokens]).is_state = true;
  const graph::ValueId ring = graph.add(graph::TensorValue{Dtype::i32, {kRingTokens}, std::nullopt, true});

  graph::Node node{"sconce.sample", {logits, tokens, ring}, "sample"};
  for (size_t i = 0; i < kSamplingInputs; ++i) {
    node.args.push_back(graph.add(graph::SymInt{}));
    graph.inputs.push_back(node.args.back());
    graph.input_dtypes.push_back(Dtype::i64);
  }
  node.args.push_back(graph.add(graph::ValueList{}));  // it has no output
  graph.nodes.push_back(std::move(node));
  graph.outputs.push_back(ring);
  graph.output_dtypes.push_back(Dtype::i32);

  // The model has loaded all constants; the choice asks for none.
  planner::ConstantTable constants = model.constant_table();
  SCONCE_TRY(planner::Method prepared, planner::prepare_method(std::move(graph), method.capabilities, constants));
  return std::make_shared<const planner::Method>(std::move(prepared));
}

std::array<int64_t, kSamplingInputs> sampling_inputs(const Generation::Feed& feed) {
  std::array<int64_t, kSamplingInputs> inputs;
  std::ranges::copy(feed.words.symints(), inputs.begin());
  inputs.back() = feed.slot;
  return inputs;
}

}  // namespace sconce::runtime
