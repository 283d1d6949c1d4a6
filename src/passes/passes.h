// Rewrites of a graph before it is planned, a file each. Every pass keeps what the graph computes at every live shape,
// and never moves a node past one that writes in place what it reads.
#pragma once

#include "graph/graph.h"

namespace sconce::passes {

struct Options {
  bool fuse = true;  // false: nodes are only removed, never replaced by fused ones; answers agree within tolerance
  bool half_caches = false;  // KV caches of f16: see halve_caches.cpp
};

// All passes, in order.
void rewrite(graph::Graph& graph, const Options& options);

// Removes nodes whose outputs nothing reads and that write nothing in place.
void remove_dead_nodes(graph::Graph& graph);

// Reads around views: see fold_views.cpp.
void fold_views(graph::Graph& graph);

// Takes the rounding of activations out of linears: see split_quantized.cpp.
void split_quantized(graph::Graph& graph);

// Linears with 4-bit weights and their neighbours become nodes of sconce.q4_linear: see the file of each name. Two
// linears that gate each other, and one that ends in a sum, are found before the others are joined; a linear with a
// residual takes no norm.
void fuse_swiglu(graph::Graph& graph);
void fuse_residual(graph::Graph& graph);
void join_linears(graph::Graph& graph);
void fuse_norm(graph::Graph& graph);

// Rotary embedding in front of attention with a KV cache: see fuse_rotary.cpp.
void fuse_rotary(graph::Graph& graph);

// KV caches of f16: see halve_caches.cpp.
void halve_caches(graph::Graph& graph);

}  // namespace sconce::passes
