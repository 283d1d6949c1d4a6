// A norm becomes part of the linears after it, if nothing else reads it:
//
//   x -> rms_norm -> q4_linear -> ...        x -> q4_linear(norm) -> ...
#include "passes/passes.h"
#include "passes/q4_linear.h"

namespace sconce::passes {

void fuse_norm(graph::Graph& graph) {
  const Index index(graph);
  Rewrite rewrite(graph);
  for (NodeId n = 0; n < graph.nodes.size(); ++n) {
    std::optional<Q4Linear> linear = read_q4_linear(graph, index, n);
    if (!linear || linear->norm_weight != kNone || linear->residual != kNone) continue;
    const NodeId producer = index.direct_producer(linear->x);
    if (producer == kNone || graph.nodes[producer].op != "et_vk.rms_norm.default") continue;
    const graph::Node& norm = graph.nodes[producer];
    if (norm.args.size() != 4 || index.only_reader(linear->x) != n) continue;
    if (!index.is_constant(norm.args[1]) || index.is_written(norm.args[0])) continue;
    linear->x = norm.args[0];
    linear->norm_weight = norm.args[1];
    linear->norm_eps = argument(graph, norm, 2);
    write_q4_linear(graph, rewrite, n, *linear);
  }
  rewrite.finish();
}

}  // namespace sconce::passes
