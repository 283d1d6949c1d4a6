// The operator sconce.q4_linear as passes make it and take it apart (ops/linear/q4_linear.cpp says what it computes).
#pragma once

#include <optional>
#include <vector>

#include "passes/pattern.h"

namespace sconce::passes {

struct Q4Linear {
  ValueId x = kNone;
  ValueId norm_weight = kNone, norm_eps = kNone;
  std::vector<ValueId> weights, scales, biases;  // biases: of each weight or none
  ValueId group_size = kNone;
  bool swiglu = false;
  ValueId residual = kNone;
  ValueId sizes = kNone;
  std::vector<ValueId> outputs;

  bool is_plain() const { return weights.size() == 1 && norm_weight == kNone && residual == kNone && !swiglu; }
};

inline constexpr size_t kMostWeights = 3;  // of one sconce.q4_linear

// A node that is one, et_vk.linear_q4gsw and et_vk.linear_qcs4w included where all but x is constant.
std::optional<Q4Linear> read_q4_linear(const graph::Graph& graph, const Index& index, NodeId node);
// Makes node `at` this one.
void write_q4_linear(graph::Graph& graph, Rewrite& rewrite, NodeId at, const Q4Linear& linear);

// Whether the weights of b can follow those of a in one node.
bool can_join(const graph::Graph& graph, const Q4Linear& a, const Q4Linear& b);

// How an elementwise node reads the only output of a plain linear: as it is, or as one view_copy shows it.
struct Reshaped {
  NodeId linear = kNone;
  ValueId sizes = kNone;  // of the view
};
std::optional<Reshaped> find_reshaped(const graph::Graph& graph, const Index& index, ValueId value);

}  // namespace sconce::passes
