// What passes ask of a graph: who makes a value and who reads it, where reshapes between them do not count.
//
//   Index index(graph);
//   Rewrite rewrite(graph);
//   for each node n that begins a pattern:
//     if (the nodes around it match, by `index`, and rewrite.untouched(...) all) rewrite.replace(n, fused);
//   rewrite.finish();
//
// The index is that of the graph before the rewrite: a pass matches each node at most once.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace sconce::passes {

using graph::kNone;
using graph::NodeId;
using graph::ValueId;

class Index {
 public:
  // Refers to the graph. Costs one walk over its nodes.
  explicit Index(const graph::Graph& graph);

  // A view is a node whose output has its input's elements in the same order and element type, under any shape. A value
  // that a node writes in place is never looked through: a view of it keeps the contents of its own moment.
  bool is_view(NodeId node) const { return is_view_[node] != 0; }
  // The value behind the views that lead to `value`, or `value` itself.
  ValueId source(ValueId value) const { return source_[value]; }
  // The node that makes source(value); kNone when it is an input, a constant or a state.
  NodeId producer(ValueId value) const { return producer_[source_[value]]; }
  // The same without looking through views.
  NodeId direct_producer(ValueId value) const { return producer_[value]; }

  // The nodes, other than views, that read the bytes of `value` itself or of a view of it, each once, in order.
  const std::vector<NodeId>& readers(ValueId value) const { return readers_[source_[value]]; }
  // The one reader; kNone when there are more or none, or when it or a view of it is an output of the graph.
  NodeId only_reader(ValueId value) const;
  // Whether `value` or a view of it is an output of the graph.
  bool is_output(ValueId value) const { return is_output_[source_[value]] != 0; }
  // Whether some node writes `value` in place: what reads it may not move past that node.
  bool is_written(ValueId value) const { return is_written_[value] != 0; }
  // A tensor known at load that never changes.
  bool is_constant(ValueId value) const;

 private:
  const graph::Graph& graph_;
  std::vector<uint8_t> is_view_;                 // of each node
  std::vector<uint8_t> is_output_, is_written_;  // of each value; is_output_ of sources only
  std::vector<ValueId> source_;
  std::vector<NodeId> producer_;
  std::vector<std::vector<NodeId>> readers_;  // of sources
};

// Changes of a graph that keep node ids until finish().
class Rewrite {
 public:
  explicit Rewrite(graph::Graph& graph) : graph_(graph), touched_(graph.nodes.size(), 0) {}

  bool untouched(std::initializer_list<NodeId> nodes) const;
  // `fused` takes the place of node `at`. What it reads must be made before `at`; what it makes that other nodes made
  // must go with remove(). Its name is that of node `at`.
  void replace(NodeId at, std::string op, std::vector<ValueId> args);
  void remove(NodeId node);
  // Takes the removed nodes out; those that only the replaced ones read are left to remove_dead_nodes.
  void finish();

 private:
  graph::Graph& graph_;
  std::vector<uint8_t> touched_;  // 1: replaced, 2: removed
};

// Argument i of a node, or kNone when there is none or it is null.
ValueId argument(const graph::Graph& graph, const graph::Node& node, size_t i);
// Whether two values are the same, or literals (or lists of such) that are equal.
bool equal(const graph::Graph& graph, ValueId a, ValueId b);

}  // namespace sconce::passes
