// Products with 4-bit weights as dispatches: which kernel, and which rows of which buffers it takes.
#pragma once

#include <array>

#include "ops/contract.h"

namespace sconce::ops {

// Up to three weights [n, k] one below the other, their scales and biases likewise.
struct Q4Weights {
  static constexpr size_t kMost = 3;

  size_t count = 0;
  std::array<uint64_t, kMost> n = {};  // rows of each
  std::span<const ConstantPart> blocks, scales;
  uint64_t group_size = 0, groups = 1;
  std::optional<Operand> bias;

  uint64_t rows() const { return n[0] + n[1] + n[2]; }
};

// y_i = h * W_i^T + b_i, where h is x [m, k] or its rms_norm; with swiglu y_0 = silu(h * W_0^T) * (h * W_1^T); a
// residual is added to y_0.
struct Q4Product {
  Operand x;
  uint64_t m = 0, k = 0;
  Q4Weights weights;
  std::optional<Operand> norm_weight;  // [k]
  double eps = 0;
  bool swiglu = false;
  std::optional<Operand> residual;               // shaped like y_0
  std::array<Operand, Q4Weights::kMost> y = {};  // one for each weight; with swiglu one
};

Result<void> plan_q4_product(Q4Product product, const record::Capabilities& device, NodePlan& plan);

}  // namespace sconce::ops
