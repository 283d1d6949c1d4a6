// What holds for every graph that leaves a front end or a pass.
#pragma once

#include "graph/graph.h"
#include "sconce/result.h"

namespace sconce::graph {

// Checks that every id exists, that values are read only after something made them (a node, an input, a constant or
// state), and that nodes write values that nothing else makes. State may be written many times.
Result<void> check(const Graph& graph);

}  // namespace sconce::graph
