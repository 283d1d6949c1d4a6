// The two front ends: an ExecuTorch method (instructions) and the delegate blobs that it calls become one graph.
#pragma once

#include <string_view>

#include "graph/graph.h"
#include "program/program.h"
#include "sconce/result.h"

namespace sconce::graph {

// The graph of the method of that name.
//
// Delegate calls are inlined; the kernel calls between them take the delegate's operator names and argument order
// (kernel_calls.h). An operator that Sconce does not know keeps its name, so that loading can list all of them at once.
// et_vk.prepack and Move calls leave no trace: their result is another name of their operand.
//
// Errors: no such method; a delegate of another backend; control flow; values that are read before they are written;
// shapes or element types that differ between a method and its delegate.
Result<Graph> build_graph(const program::Program& program, std::string_view method);

}  // namespace sconce::graph
