// Graphs for tests, built a call at a time.
#pragma once

#include <fmt/format.h>

#include "graph/graph.h"

namespace sconce::test {

// One argument of a call: a value, or a literal that becomes one.
struct Arg {
  std::variant<graph::ValueId, graph::Value> value;

  Arg(graph::ValueId id) : value(id) {}
  Arg(int number) : value(graph::Value(int64_t{number})) {}
  Arg(double number) : value(graph::Value(number)) {}
  Arg(bool flag) : value(graph::Value(flag)) {}
  Arg(std::nullptr_t) : value(graph::Value(graph::Null{})) {}
  Arg(const char* text) : value(graph::Value(std::string(text))) {}
  Arg(std::vector<graph::ValueId> list) : value(graph::Value(graph::ValueList{std::move(list)})) {}
  static Arg ints(std::vector<int64_t> items) {
    Arg arg(nullptr);
    arg.value = graph::Value(graph::IntList{std::move(items)});
    return arg;
  }
};

class GraphBuilder {
 public:
  GraphBuilder() { graph_.method = "forward"; }

  graph::ValueId input(Shape bound, Dtype dtype = Dtype::f32) {
    graph_.inputs.push_back(tensor(bound, dtype));
    graph_.input_dtypes.push_back(dtype);
    return graph_.inputs.back();
  }
  graph::ValueId symint_input() {
    graph_.inputs.push_back(symint());
    graph_.input_dtypes.push_back(Dtype::i64);
    return graph_.inputs.back();
  }
  graph::ValueId tensor(Shape bound, Dtype dtype = Dtype::f32) {
    return graph_.add(graph::TensorValue{dtype, bound, std::nullopt, false});
  }
  graph::ValueId symint() { return graph_.add(graph::SymInt{}); }
  // Its bytes are at offset 0 of source 0; equal names are equal constants.
  graph::ValueId constant(Shape shape, std::string name, Dtype dtype = Dtype::f32) {
    program::Constant constant;
    constant.key = std::move(name);
    constant.range = {0, 0, shape.numel() * size_of(dtype)};
    return graph_.add(graph::TensorValue{dtype, shape, std::move(constant), false});
  }
  graph::ValueId state(Shape shape, Dtype dtype = Dtype::f32) {
    return graph_.add(graph::TensorValue{dtype, shape, std::nullopt, true});
  }

  graph::ValueId literal(int64_t number) { return graph_.add(number); }

  // Adds a node and returns `output`, its last argument.
  graph::ValueId call(std::string op, std::vector<Arg> args, graph::ValueId output) {
    graph::Node node;
    node.op = std::move(op);
    for (Arg& arg : args) node.args.push_back(id_of(std::move(arg)));
    node.args.push_back(output);
    node.name = fmt::format("{}", graph_.nodes.size());
    graph_.nodes.push_back(std::move(node));
    return output;
  }
  std::vector<graph::ValueId> call(std::string op, std::vector<Arg> args, std::vector<graph::ValueId> outputs) {
    call(std::move(op), std::move(args), graph_.add(graph::ValueList{outputs}));
    return outputs;
  }
  // With a new f32 output of this bound.
  graph::ValueId call(std::string op, std::vector<Arg> args, Shape bound) {
    return call(std::move(op), std::move(args), tensor(bound));
  }
  graph::ValueId call_symint(std::string op, std::vector<Arg> args) {
    return call(std::move(op), std::move(args), symint());
  }

  const Shape& bound(graph::ValueId value) const { return graph_.tensor(value)->bound; }
  graph::Graph finish(std::vector<graph::ValueId> outputs) {
    for (graph::ValueId output : outputs)
      graph_.output_dtypes.push_back(graph_.tensor(output) ? graph_.tensor(output)->dtype : Dtype::i64);
    graph_.outputs = std::move(outputs);
    return std::move(graph_);
  }

 private:
  graph::ValueId id_of(Arg arg) {
    if (const auto* id = std::get_if<graph::ValueId>(&arg.value)) return *id;
    return graph_.add(std::get<graph::Value>(std::move(arg.value)));
  }

  graph::Graph graph_;
};

}  // namespace sconce::test
