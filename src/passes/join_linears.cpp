// Up to three linears of one input as one node, so that x is read, and normalised, once:
//
//   x -> q4_linear -> q        x -> q4_linear -> q, k, v
//   x -> q4_linear -> k
//   x -> q4_linear -> v
//
// The node stands where the first of them stood: the others read x and constants alone, so that they may move up. A
// weight that something else reads too stays by itself, or the GPU would hold it twice. A linear without a partner
// becomes a node of the same kind.
#include <algorithm>
#include <map>

#include "passes/passes.h"
#include "passes/q4_linear.h"

namespace sconce::passes {
namespace {

using graph::Graph;

// How many nodes read each constant; equal contents are one constant.
class ConstantUses {
 public:
  explicit ConstantUses(const Graph& graph) : graph_(graph) {
    for (const graph::Node& node : graph.nodes)
      for (ValueId value : node.args) {
        count(value);
        if (const auto* list = std::get_if<graph::ValueList>(&graph.values[value]))
          for (ValueId item : list->items) count(item);
      }
  }
  bool is_only(ValueId value) const { return uses_.at(graph_.tensor(value)->constant->key) == 1; }

 private:
  void count(ValueId value) {
    const graph::TensorValue* tensor = graph_.tensor(value);
    if (tensor != nullptr && tensor->constant) ++uses_[tensor->constant->key];
  }

  const Graph& graph_;
  std::map<std::string, int> uses_;
};

}  // namespace

void join_linears(Graph& graph) {
  const Index index(graph);
  const ConstantUses uses(graph);
  Rewrite rewrite(graph);
  for (NodeId n = 0; n < graph.nodes.size(); ++n) {
    if (!rewrite.untouched({n})) continue;
    std::optional<Q4Linear> linear = read_q4_linear(graph, index, n);
    if (!linear || !linear->is_plain()) continue;
    const bool alone = !uses.is_only(linear->weights[0]);
    for (NodeId other : index.readers(linear->x)) {
      if (alone || other <= n || linear->weights.size() == kMostWeights || !rewrite.untouched({other})) continue;
      const std::optional<Q4Linear> next = read_q4_linear(graph, index, other);
      if (!next || !next->is_plain() || !uses.is_only(next->weights[0]) || !can_join(graph, *linear, *next)) continue;
      linear->weights.push_back(next->weights[0]);
      linear->scales.push_back(next->scales[0]);
      if (!linear->biases.empty()) linear->biases.push_back(next->biases[0]);
      linear->outputs.push_back(next->outputs[0]);
      rewrite.remove(other);
    }
    write_q4_linear(graph, rewrite, n, *linear);
  }
  rewrite.finish();
}

}  // namespace sconce::passes
