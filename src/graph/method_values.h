// A method's values as they are in the graph, while the method's instructions are walked in order.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "program/program.h"
#include "sconce/result.h"

namespace sconce::graph {

// Adds to a graph, within bounds: an instruction list may call one delegate many times, so a small file could describe
// a graph without end.
class GraphWriter {
 public:
  explicit GraphWriter(Graph& graph) : graph_(graph) {}

  Graph& graph() { return graph_; }
  ValueId add(Value value) { return graph_.add(std::move(value)); }
  Result<void> add_node(Node node);
  Result<ValueId> add_list(std::vector<ValueId> items);
  // Counts items against the bound.
  Result<void> count(size_t items);

 private:
  Graph& graph_;
  size_t size_ = 0;
};

// The element type on the GPU: an i64 is held as an i32, an f64 as an f32.
Dtype device_dtype(Dtype dtype);

// Maps a method's values to the graph's. Every write makes a new value, except to state, so that in the graph each
// value is written once.
class MethodValues {
 public:
  MethodValues(const program::Method& method, GraphWriter& writer);

  // Adds the method's inputs to the graph.
  Result<void> add_inputs();

  // The value that an instruction reads. A tensor that no instruction has written is a constant, a view that the
  // exporter elided (then a view_copy node is added), or a mutable buffer.
  Result<ValueId> read(program::EValueId id);
  // The value that an instruction writes: a tensor, a SymInt, or a list of tensors.
  Result<ValueId> write(program::EValueId id);
  // From now on `id` is another name of `value`.
  void bind(program::EValueId id, ValueId value);

  const program::Method& method() const { return method_; }

 private:
  Result<ValueId> read_tensor(program::EValueId id, const program::TensorSpec& spec);
  Result<ValueId> read_ints(const program::IntList& list);
  Result<ValueId> read_tensors(const program::TensorList& list);
  Result<ValueId> view_of(ValueId base, program::EValueId id, const program::TensorSpec& spec);
  // Adds the mutable buffer at a place of the planned memory: the first of the method's tensors there.
  Result<void> add_state(program::MemoryPlace place);
  // Whether some instruction or caller sets this number.
  bool is_set_in_runs(program::EValueId id) const { return set_in_runs_[id]; }

  const program::Method& method_;
  GraphWriter& writer_;
  std::vector<ValueId> current_;  // by EValueId; kNone before the first use
  std::vector<bool> set_in_runs_;
  std::map<program::MemoryPlace, program::EValueId> first_at_;
  std::map<program::MemoryPlace, ValueId> holders_;  // the tensor written last at each place
};

}  // namespace sconce::graph
