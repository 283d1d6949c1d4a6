// Rewrites of a graph before it is planned, a file each. Every pass keeps what the graph computes at every live shape,
// and never moves a node past one that writes in place what it reads.
#pragma once

#include "graph/graph.h"

namespace sconce::passes {

struct Options {
  bool fuse = true;  // false: nodes are only removed, never replaced by fused ones; answers agree within tolerance
};

// All passes, in order.
void rewrite(graph::Graph& graph, const Options& options);

// Removes nodes whose outputs nothing reads and that write nothing in place.
void remove_dead_nodes(graph::Graph& graph);

// Reads around views: see fold_views.cpp.
void fold_views(graph::Graph& graph);

}  // namespace sconce::passes
