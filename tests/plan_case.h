// One operator call on its own, for tests of plan functions: a graph with a single node, and live shapes beside bounds.
#pragma once

#include <gtest/gtest.h>

#include <map>

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
  // A constant, in as many packed parts as `part_rows` has entries, or in one.
  PlanCase& constant(Shape shape, Dtype dtype = Dtype::f32, std::vector<uint32_t> part_rows = {}) {
    if (part_rows.empty()) part_rows = {static_cast<uint32_t>(shape.empty() ? 1 : shape[0])};
    node_.args.push_back(add(graph::TensorValue{dtype, shape, program::Constant{}}, shape));
    uint32_t first_row = 0;
    for (uint32_t rows : part_rows) {
      const uint64_t bytes = shape.numel() / static_cast<uint64_t>(shape[0]) * rows * size_of(dtype);
      parts_[node_.args.back()].push_back({{Operand::Kind::packed, 0, bytes}, first_row, rows});
      first_row += rows;
    }
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
  // The same, of constants with their rows one below the other: in as many packed parts as `part_rows` has entries, or
  // in one.
  PlanCase& constant_list(size_t count, std::vector<uint32_t> part_rows) {
    std::vector<ConstantPart> parts;
    uint32_t rows = 0;
    for (size_t i = node_.args.size() - count; i < node_.args.size(); ++i) rows += parts_[node_.args[i]][0].rows;
    list(count);
    if (part_rows.empty()) part_rows = {rows};
    uint32_t first_row = 0;
    for (uint32_t part : part_rows) {
      parts.push_back({{Operand::Kind::packed, 0, 0}, first_row, part});
      first_row += part;
    }
    parts_[node_.args.back()] = std::move(parts);
    return *this;
  }
  // What the host knows of all integer tensors.
  PlanCase& known(std::vector<int64_t> contents) {
    contents_ = std::move(contents);
    return *this;
  }

  uint32_t live_entry(graph::ValueId symint) override { return symint + 1; }

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

  // The workgroups of each dispatch.
  std::vector<uint64_t> workgroups() const {
    std::vector<uint64_t> counts;
    for (const PlannedCommand& command : plan.commands())
      counts.push_back(uint64_t{command.grid[0]} * command.grid[1] * command.grid[2]);
    return counts;
  }

  NodePlan plan;
  std::vector<Packing> packings;  // that the plan asked for

 private:
  graph::ValueId add(graph::Value value, Shape live = {}) {
    live_.shapes.push_back(live);
    live_.symints.push_back(0);
    live_.known.push_back(0);
    return graph_.add(std::move(value));
  }
  Result<std::span<const ConstantPart>> parts(graph::ValueId constant, Packing packing) override {
    packings.push_back(packing);
    return std::span<const ConstantPart>(parts_[constant]);
  }
  std::optional<std::vector<int64_t>> host_integers(graph::ValueId) override { return contents_; }

  graph::Graph graph_;
  graph::Node node_;
  LiveValues live_;
  std::map<graph::ValueId, std::vector<ConstantPart>> parts_;
  std::optional<std::vector<int64_t>> contents_;
};

}  // namespace sconce::ops
