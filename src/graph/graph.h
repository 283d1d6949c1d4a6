// A method as one graph: values and nodes in the order of execution. Whatever split the exporter made (delegate calls
// with kernel calls between them) is gone here, and an operator has one name and one argument order wherever it came
// from: the delegate blob's ("aten.add.Tensor"; see docs/operators.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "program/program.h"
#include "sconce/tensor.h"

namespace sconce::graph {

using ValueId = uint32_t;
using NodeId = uint32_t;
inline constexpr uint32_t kNone = UINT32_MAX;

// A tensor's bytes: from a constant, kept between runs (state), or produced in each run.
struct TensorValue {
  // On the GPU an i64 is held as an i32 and an f64 as an f32, and so are tensors made in a run called here; only one
  // with bytes in the file has their element type.
  Dtype dtype = Dtype::f32;
  Shape bound;                                // upper bound of each dim; a live dim lies between 0 and it
  std::optional<program::Constant> constant;  // a constant's bytes, or a state's first contents (absent: zeros)
  bool is_state = false;                      // written in place by some node and kept between runs
};
struct Null {};
struct SymInt {};  // an integer set in every run, by a node or by an input
struct IntList {
  std::vector<int64_t> items;
};
struct RealList {
  std::vector<double> items;
};
struct BoolList {
  std::vector<bool> items;
};
struct ValueList {
  std::vector<ValueId> items;  // kNone is an absent tensor of an optional list
};
using Value =
    std::variant<Null, int64_t, double, bool, std::string, IntList, RealList, BoolList, ValueList, SymInt, TensorValue>;

// "Int", "Double", "tensor" and so on, for messages.
const char* kind_of(const Value& value);

// One operator call. Arguments stand in the operator's schema order; the last one is the output: a tensor, a SymInt, or
// a ValueList of tensors.
struct Node {
  std::string op;
  std::vector<ValueId> args;
  // For messages and profiles: "12" is node 12 of the method's only delegate, "1.12" that of delegate 1, "k3" the
  // kernel call at instruction 3, "view 7" and "cast 7" are nodes that the front end added.
  std::string name;
};

struct Graph {
  std::string method;
  std::vector<Value> values;
  std::vector<Node> nodes;                         // topological order
  std::vector<ValueId> inputs;                     // tensors or SymInts
  std::vector<ValueId> outputs;                    // tensors, SymInts, or literals that the method returns
  std::vector<Dtype> input_dtypes, output_dtypes;  // of the host tensors: an i64 may be held as i32 inside

  const TensorValue* tensor(ValueId id) const {
    return id < values.size() ? std::get_if<TensorValue>(&values[id]) : nullptr;
  }
  ValueId add(Value value) {
    values.push_back(std::move(value));
    return static_cast<ValueId>(values.size() - 1);
  }
};

// The output values of a node: the items of its last argument if that is a list, else the last argument itself.
std::vector<ValueId> outputs_of(const Graph& graph, const Node& node);

}  // namespace sconce::graph
