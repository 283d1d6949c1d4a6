#include "kernels.h"
#include "ops/linear/linear.h"
#include "ops/linear/rows.h"

namespace sconce::ops {
namespace {

// c [batches, m, n] = alpha * x [batches, m, k] * w + beta * added; strides in elements (see matmul_tile.wgsl).
struct Matmul {
  Operand x, w, added, c;
  uint64_t batches = 1, m = 0, n = 0, k = 0;
  uint64_t first_column = 0, c_columns = 0;
  uint64_t w_batch = 0, w_k = 0, w_n = 0;
  uint64_t added_m = 0, added_n = 0;
  double alpha = 1, beta = 1;
};

template <typename Kernel>
Kernel matmul_kernel(const Matmul& a) {
  return {.x = a.x,
          .w = a.w,
          .added = a.added,
          .c = a.c,
          .batches = static_cast<uint32_t>(a.batches),
          .m = static_cast<uint32_t>(a.m),
          .n = static_cast<uint32_t>(a.n),
          .k = static_cast<uint32_t>(a.k),
          .first_column = static_cast<uint32_t>(a.first_column),
          .c_columns = static_cast<uint32_t>(a.c_columns),
          .w_batch = static_cast<uint32_t>(a.w_batch),
          .w_k = static_cast<uint32_t>(a.w_k),
          .w_n = static_cast<uint32_t>(a.w_n),
          .has_added = a.added.kind != Operand::Kind::absent && a.beta != 0,
          .added_m = static_cast<uint32_t>(a.added_m),
          .added_n = static_cast<uint32_t>(a.added_n),
          .alpha = static_cast<float>(a.alpha),
          .beta = static_cast<float>(a.beta)};
}

Result<void> plan_matmul(const Matmul& a, const record::Capabilities& capabilities, NodePlan& plan) {
  if (capabilities.adapter_class == record::AdapterClass::software)
    return plan.dispatch(matmul_kernel<kernels::matmul_lanes>(a), a.batches * div_ceil(a.m, 4) * div_ceil(a.n, 64));
  return plan.dispatch(matmul_kernel<kernels::matmul_tile>(a), a.batches * div_ceil(a.m, 64) * div_ceil(a.n, 64));
}

// The product with argument `at`, w [K, N]. Where a constant is above the binding limit each part has some columns of
// it.
Result<void> plan_by_columns(const Call& call, size_t at, Matmul matmul, NodePlan& plan) {
  const record::Capabilities& device = call.capabilities();
  if (!call.is_constant(at) || matmul.w.bytes <= device.max_storage_binding_bytes)
    return plan_matmul(matmul, device, plan);
  SCONCE_TRY(auto parts, call.constant_parts(at, Packing::columns));
  for (const ConstantPart& part : parts) {
    matmul.w = part.data;
    matmul.n = matmul.w_k = part.rows;
    matmul.first_column = part.first_row;
    SCONCE_DO(plan_matmul(matmul, device, plan));
  }
  return {};
}

// x [M, K] and w [K, N], for mm and addmm.
Result<Matmul> read_matrices(const TensorArg& x, const TensorArg& w) {
  SCONCE_CHECK(x.rank() == 2 && w.rank() == 2 && x.shape[1] == w.shape[0],
               "Matrices of shape {} and {} cannot be multiplied: [M, K] and [K, N] are needed.", x.shape, w.shape);
  Matmul matmul{.x = x, .w = w};
  matmul.m = static_cast<uint64_t>(x.shape[0]);
  matmul.k = static_cast<uint64_t>(x.shape[1]);
  matmul.n = matmul.c_columns = static_cast<uint64_t>(w.shape[1]);
  matmul.w_k = matmul.n;
  matmul.w_n = 1;
  return matmul;
}

}  // namespace

// aten.linear(x [..., K], weight [N, K], bias [N] or null) -> y [..., N] = x * weight^T + bias
Result<void> plan_linear(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0, Dtype::f32));
  SCONCE_TRY(TensorArg weight, call.tensor(1, Dtype::f32));
  SCONCE_TRY(auto bias, call.optional_tensor(2, Dtype::f32));
  SCONCE_CHECK(x.rank() >= 1 && weight.rank() == 2 && x.shape.back() == weight.shape[1],
               "An input of shape {} cannot be multiplied with a weight of shape {}: [..., K] and [N, K] are needed.",
               x.shape, weight.shape);
  SCONCE_CHECK(!bias || bias->shape == Shape{weight.shape[0]}, "The bias has shape {}, but there are {} outputs.",
               bias->shape, weight.shape[0]);
  Shape shape = x.shape;
  shape[shape.rank() - 1] = weight.shape[0];
  SCONCE_TRY(Operand y, plan.output(0, shape));
  SCONCE_TRY(auto parts, call.row_parts(1));
  for (const ConstantPart& part : parts)
    SCONCE_DO(plan_matmul({.x = x,
                           .w = part.data,
                           .added = bias ? Operand(*bias) : Operand{},
                           .c = y,
                           .m = leading_count(x.shape),
                           .n = part.rows,
                           .k = static_cast<uint64_t>(x.shape.back()),
                           .first_column = part.first_row,
                           .c_columns = static_cast<uint64_t>(weight.shape[0]),
                           .w_k = 1,
                           .w_n = static_cast<uint64_t>(x.shape.back()),
                           .added_n = 1},
                          call.capabilities(), plan));
  return {};
}

// aten.mm(x [M, K], w [K, N]) -> c [M, N]
Result<void> plan_mm(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0, Dtype::f32));
  SCONCE_TRY(TensorArg w, call.tensor(1, Dtype::f32));
  SCONCE_TRY(Matmul matmul, read_matrices(x, w));
  SCONCE_TRY(matmul.c, plan.output(0, {x.shape[0], w.shape[1]}));
  return plan_by_columns(call, 1, matmul, plan);
}

// aten.bmm(x [B, M, K], w [B, K, N]) -> c [B, M, N]
Result<void> plan_bmm(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0, Dtype::f32));
  SCONCE_TRY(TensorArg w, call.tensor(1, Dtype::f32));
  SCONCE_CHECK(x.rank() == 3 && w.rank() == 3 && x.shape[0] == w.shape[0] && x.shape[2] == w.shape[1],
               "Batches of shape {} and {} cannot be multiplied: [B, M, K] and [B, K, N] are needed.", x.shape,
               w.shape);
  SCONCE_TRY(Operand c, plan.output(0, {x.shape[0], x.shape[1], w.shape[2]}));
  const auto k = static_cast<uint64_t>(w.shape[1]), n = static_cast<uint64_t>(w.shape[2]);
  return plan_matmul({.x = x,
                      .w = w,
                      .c = c,
                      .batches = static_cast<uint64_t>(x.shape[0]),
                      .m = static_cast<uint64_t>(x.shape[1]),
                      .n = n,
                      .k = k,
                      .c_columns = n,
                      .w_batch = k * n,
                      .w_k = n,
                      .w_n = 1},
                     call.capabilities(), plan);
}

// aten.addmm(added, x [M, K], w [K, N], beta, alpha) -> c [M, N] = beta * added + alpha * x * w, where `added`
// broadcasts to [M, N]. With beta 0 `added` is not read, as in torch.
Result<void> plan_addmm(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg added, call.tensor(0, Dtype::f32));
  SCONCE_TRY(TensorArg x, call.tensor(1, Dtype::f32));
  SCONCE_TRY(TensorArg w, call.tensor(2, Dtype::f32));
  SCONCE_TRY(Matmul matmul, read_matrices(x, w));
  SCONCE_TRY(matmul.beta, call.number_or(3, 1));
  SCONCE_TRY(matmul.alpha, call.number_or(4, 1));
  const Shape shape = {x.shape[0], w.shape[1]};
  const int64_t columns = added.rank() >= 1 ? added.shape.back() : 1;
  const int64_t rows = added.rank() == 2 ? added.shape[0] : 1;
  SCONCE_CHECK(added.rank() <= 2 && (columns == 1 || columns == shape[1]) && (rows == 1 || rows == shape[0]),
               "A tensor of shape {} cannot be added to a product of shape {}.", added.shape, shape);
  SCONCE_TRY(matmul.c, plan.output(0, shape));
  matmul.added = added;
  matmul.added_m = rows == 1 ? 0 : static_cast<uint64_t>(columns);
  matmul.added_n = columns == 1 ? 0 : 1;
  return plan_by_columns(call, 2, matmul, plan);
}

}  // namespace sconce::ops
