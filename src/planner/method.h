// A method made ready for a device: checked, laid out, with its constants requested. Shared by all sessions.
#pragma once

#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "ops/contract.h"
#include "planner/constants.h"
#include "planner/layout.h"

namespace sconce::planner {

struct Method {
  graph::Graph graph;
  record::Capabilities capabilities;
  std::vector<const ops::OperatorInfo*> operators;  // of each node
  Layout layout;
  std::unordered_map<uint64_t, std::vector<ops::ConstantPart>> parts;  // by part_key

  // `constant` is a tensor or a list of tensors whose rows follow each other.
  static uint64_t part_key(ValueId constant, ops::Packing packing) {
    return uint64_t{constant} << 8 | static_cast<uint64_t>(packing);
  }
};

// Checks every node on its own against its bounds and collects the packed constants that it asks for. All unsupported
// operators are reported at once. What depends on a SymInt is checked in the first run.
Result<Method> prepare_method(graph::Graph graph, const record::Capabilities& capabilities, ConstantTable& constants);

// "node 12 (aten.add.Tensor)", for the trail of an error.
std::string node_label(const graph::Graph& graph, NodeId node);

}  // namespace sconce::planner
