// One operator call on its own, for tests of plan functions: a graph with a single node, and live shapes beside bounds.
#pragma once

#include <gtest/gtest.h>

#include "ops/contract.h"

namespace sconce::ops {

class PlanCase : private ConstantProvider {
 public:
  explicit PlanCase(std::string op) { node_.op = std::move(op); }

  // Arguments in order; a tensor's live shape is its bound unless given.
  PlanCase& tensor(Shape bound, Dtype dtype = Dtype::f32) { return live_tensor(bound, bound, dtype); }
  PlanCase& live_tensor(Shape bound, Shape live, Dtype dtype = Dtype::f32) {
    node_.args.push_back(add(graph::TensorValue{dtype, bound}, live));
    return *this;
  }
  PlanCase& value(graph::Value value) {
    node_.args.push_back(add(std::move(value)));
    return *this;
  }
  PlanCase& symint(int64_t value) {
    node_.args.push_back(add(graph::SymInt{}));
    live_.symints.back() = value;
    live_.known.back() = 1;
    return *this;
  }
  PlanCase& null() { return value(graph::Null{}); }
  PlanCase& ints(std::vector<int64_t> items) { return value(graph::IntList{std::move(items)}); }
  // A list of the last `count` arguments.
  PlanCase& list(size_t count) {
    graph::ValueList list;
    list.items.assign(node_.args.end() - static_cast<ptrdiff_t>(count), node_.args.end());
    node_.args.resize(node_.args.size() - count);
    return value(std::move(list));
  }
  // What the host knows of all integer tensors.
  PlanCase& known(std::vector<int64_t> contents) {
    contents_ = std::move(contents);
    return *this;
  }

  record::Capabilities capabilities;

  // Plans the call with its last argument as the output.
  Result<void> run() {
    const OperatorInfo* op = find_operator(node_.op);
    if (op == nullptr) return fail(ErrorCode::not_found, "There is no operator {}.", node_.op);
    plan.begin(&graph_, &node_, capabilities);
    return op->plan(Call(graph_, node_, live_, capabilities, *this), plan);
  }
  // The message of the error that planning gives, or "".
  std::string error() {
    Result<void> result = run();
    return result ? "" : result.error().message;
  }
  // The labels of the kernels that a plan dispatches ("copy" for a copy), joined by spaces.
  std::string kernels() const {
    std::string names;
    for (const PlannedCommand& command : plan.commands()) {
      if (!names.empty()) names += ' ';
      names += command.kernel ? record::kernel_label(*command.kernel, command.variant) : "copy";
    }
    return names;
  }

  NodePlan plan;

 private:
  graph::ValueId add(graph::Value value, Shape live = {}) {
    live_.shapes.push_back(live);
    live_.symints.push_back(0);
    live_.known.push_back(0);
    return graph_.add(std::move(value));
  }
  Result<std::span<const ConstantPart>> parts(graph::ValueId, Packing) override {
    return fail(ErrorCode::unsupported, "This call has no constants.");
  }
  std::optional<std::vector<int64_t>> host_integers(graph::ValueId) override { return contents_; }

  graph::Graph graph_;
  graph::Node node_;
  LiveValues live_;
  std::optional<std::vector<int64_t>> contents_;
};

}  // namespace sconce::ops
