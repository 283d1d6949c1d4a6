// Rewrites of a graph before it is planned, a file each. Every pass keeps what the graph computes at every live shape.
#pragma once

#include "graph/graph.h"

namespace sconce::passes {

// Removes nodes whose outputs nothing reads and that write nothing in place.
void remove_dead_nodes(graph::Graph& graph);

}  // namespace sconce::passes
