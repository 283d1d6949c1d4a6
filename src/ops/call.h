// The arguments of one operator call, read by kind.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/math.h"
#include "graph/graph.h"
#include "ops/live_integer.h"
#include "ops/operand.h"
#include "ops/packing.h"
#include "record/capabilities.h"

namespace sconce::ops {

// The live side of a graph: one entry a value.
struct LiveValues {
  std::vector<Shape> shapes;     // of tensors
  std::vector<int64_t> symints;  // of SymInts
  std::vector<uint8_t> known;    // SymInts: set in this run; tensors: unused
};

// A tensor argument at its live shape.
struct TensorArg {
  graph::ValueId id = graph::kNone;
  Dtype dtype = Dtype::f32;
  Shape shape;  // live
  Shape bound;

  uint64_t numel() const { return shape.numel(); }
  size_t rank() const { return shape.rank(); }
  operator Operand() const { return {Operand::Kind::value, id, numel() * device_size()}; }
  // Bytes of an element on the GPU: an i64 is held as an i32, an f64 as an f32.
  size_t device_size() const { return std::min<size_t>(size_of(dtype), 4); }
};

// Hands out packed constants and entries of the table of live integers; the planner implements it.
class ConstantProvider {
 public:
  // The table entry of a SymInt, or 0 when the table is full.
  virtual uint32_t live_entry(graph::ValueId symint) = 0;
  // `constant` is a tensor, or a list of tensors whose rows follow each other.
  virtual Result<std::span<const ConstantPart>> parts(graph::ValueId constant, Packing packing) = 0;
  // Elements of a small integer tensor whose contents the host knows (a graph input), or nothing.
  virtual std::optional<std::vector<int64_t>> host_integers(graph::ValueId tensor) = 0;

 protected:
  ~ConstantProvider() = default;
};

class Call {
 public:
  Call(const graph::Graph& graph, const graph::Node& node, const LiveValues& live,
       const record::Capabilities& capabilities, ConstantProvider& constants)
      : graph_(graph), node_(node), live_(live), capabilities_(capabilities), constants_(constants) {}

  // Arguments without the output, which is the last one of the node.
  size_t count() const { return node_.args.size() - 1; }
  bool is_null(size_t i) const;  // also true when there is no argument i
  bool is_tensor(size_t i) const;

  // A tensor of any element type, or of the given one.
  Result<TensorArg> tensor(size_t i) const;
  Result<TensorArg> tensor(size_t i, Dtype dtype) const;
  // Nothing when the argument is null.
  Result<std::optional<TensorArg>> optional_tensor(size_t i, Dtype dtype) const;
  Result<std::vector<TensorArg>> tensors(size_t i) const;                          // a ValueList of tensors, or one
  Result<std::vector<std::optional<TensorArg>>> optional_tensors(size_t i) const;  // some may be absent

  // The exporter stores equal numbers once, so `0` and `0.0` may share a value of either kind: all of these accept
  // both.
  Result<double> number(size_t i) const;                      // Int, Double, Bool or SymInt
  Result<double> number_or(size_t i, double fallback) const;  // the fallback when null
  Result<int64_t> integer(size_t i) const;                    // Int, integral Double, Bool or SymInt
  Result<int64_t> integer_or(size_t i, int64_t fallback) const;
  // As integer(), for a kernel that looks it up: see NodePlan::holds_while.
  Result<LiveInteger> live_integer(size_t i) const;
  Result<bool> flag(size_t i) const;  // Bool or Int
  Result<bool> flag_or(size_t i, bool fallback) const;
  Result<std::string_view> text(size_t i) const;
  // IntList, ValueList of Ints and SymInts, or a single integer; empty when null.
  Result<std::vector<int64_t>> integers(size_t i) const;
  // RealList, IntList or a single number; empty when null.
  Result<std::vector<double>> numbers(size_t i) const;

  // Whether argument i is a tensor, or a list of tensors, whose contents are known at load and never change.
  bool is_constant(size_t i) const;
  // A constant tensor in a packing, or a list of them with their rows one below the other. Ask for constants before
  // reading SymInts: at load, a node whose SymInts are not known yet is planned as far as it goes, and what it asked
  // for is what will be uploaded.
  Result<std::span<const ConstantPart>> constant_parts(size_t i, Packing packing) const;
  // The same for a constant that fits one binding.
  Result<Operand> constant(size_t i, Packing packing) const;
  // A tensor by its rows (its first dim): the parts of a constant as it is stored, or a computed one as a whole.
  Result<std::vector<ConstantPart>> row_parts(size_t i) const;
  // Contents of a small integer tensor that the host knows without asking the GPU.
  std::optional<std::vector<int64_t>> host_integers(size_t i) const;

  Dtype output_dtype(size_t i) const;  // of output i, as serialized
  const record::Capabilities& capabilities() const { return capabilities_; }

  const graph::Graph& graph() const { return graph_; }
  const graph::Node& node() const { return node_; }
  const LiveValues& live() const { return live_; }

 private:
  const graph::Value* value(size_t i) const;
  Result<double> scalar(size_t i, const graph::Value* value, graph::ValueId id) const;
  std::unexpected<Error> wrong_kind(size_t i, const char* expected) const;
  TensorArg tensor_arg(graph::ValueId id, const graph::TensorValue& tensor) const;

  const graph::Graph& graph_;
  const graph::Node& node_;
  const LiveValues& live_;
  const record::Capabilities& capabilities_;
  ConstantProvider& constants_;
};

}  // namespace sconce::ops
