// What is known of a method before any live shape: which values share a buffer, which buffer each tensor is in, and who
// reads what.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "ops/contract.h"

namespace sconce::planner {

using graph::NodeId;
using graph::ValueId;

// Lists of ids, one a key, in one array.
class Lists {
 public:
  void build(const std::vector<std::vector<uint32_t>>& lists);
  std::span<const uint32_t> operator[](size_t key) const {
    return {items_.data() + first_[key], items_.data() + first_[key + 1]};
  }

 private:
  std::vector<uint32_t> first_, items_;
};

struct Layout {
  std::vector<ValueId> root;         // of a value: the tensor whose bytes it has (itself, unless it is a reshape)
  std::vector<uint32_t> slot;        // of a value: index into slot_bytes; kNone for constants, states and non-tensors
  std::vector<uint64_t> slot_bytes;  // sized from upper bounds, so live shapes never move anything
  Lists consumers;                   // of a value: the nodes that read it or whose shapes depend on it
  Lists outputs;                     // of a node: its output values
  std::vector<uint8_t> on_symint;    // of a node: its shapes follow from a SymInt, so they are known in a run only
};

// Slots are shared by liveness over closed intervals: a node's output never takes a slot that its own input still
// holds.
Layout lay_out(const graph::Graph& graph, std::span<const ops::OperatorInfo* const> operators);

// Bytes of a tensor on the GPU at its upper bound: a multiple of 16, at least 16.
uint64_t device_bytes(const graph::TensorValue& tensor);

}  // namespace sconce::planner
