#include "ops/reduce/reduce.h"

#include <algorithm>
#include <limits>

#include "ops/shared/elements.h"
#include "ops/shared/strides.h"

namespace sconce::ops {
namespace {

// A reduction at live shapes: which dims go, and what is left.
struct Reduction {
  std::array<bool, Shape::kMaxRank> reduced = {};
  Shape shape;          // of the output
  uint64_t length = 1;  // elements that become one
};

Result<Reduction> read_reduction(const TensorArg& x, std::span<const int64_t> dims, bool keepdim) {
  Reduction reduction;
  for (int64_t dim : dims) {
    SCONCE_TRY(size_t d, normalize_dim(dim, x.rank()));
    reduction.reduced[d] = true;
  }
  if (dims.empty()) reduction.reduced.fill(true);
  for (size_t d = 0; d < x.rank(); ++d) {
    if (!reduction.reduced[d]) {
      reduction.shape.push_back(x.shape[d]);
      continue;
    }
    reduction.length *= static_cast<uint64_t>(x.shape[d]);
    if (keepdim) reduction.shape.push_back(1);
  }
  return reduction;
}

// The members that both kernels have: sizes, box and lanes. The box takes the kept dims first, then the reduced ones.
template <typename Kernel>
Result<uint64_t> fill_kernel(Kernel& kernel, const TensorArg& x, const Reduction& reduction,
                             const record::Capabilities& capabilities) {
  const Strides strides = row_major_strides(x.shape);
  StridedBox kept, reduced;
  int64_t inner_stride = 1;
  for (size_t d = 0; d < x.rank(); ++d) {
    (reduction.reduced[d] ? reduced : kept).add(x.shape[d], strides[d]);
    if (reduction.reduced[d] && x.shape[d] != 1) inner_stride = strides[d];
  }
  const size_t kept_rank = kept.rank(), rank = kept_rank + reduced.rank();
  SCONCE_TRY(auto first, kept.template dims<8>());
  SCONCE_TRY(auto second, reduced.template dims<8>());
  if (rank > 8)
    return fail(ErrorCode::unsupported, "A reduction over alternating dims of shape {} needs {} dims; 8 are allowed.",
                x.shape, rank);
  kernel.dims = first;
  std::copy_n(second.begin(), 4 * reduced.rank(), kernel.dims.begin() + 4 * kept_rank);
  kernel.kept_rank = static_cast<uint32_t>(kept_rank);
  kernel.rank = static_cast<uint32_t>(rank);
  const uint64_t count = reduction.shape.numel();
  kernel.count = static_cast<uint32_t>(count);
  kernel.length = static_cast<uint32_t>(reduction.length);
  const bool shared = share_lines(capabilities, count, reduction.length, inner_stride);
  kernel.lanes = shared ? 64 : 1;
  return shared ? count : div_ceil(count, 64);
}

// The elements to reduce for a result of this type. Bytes are reduced as i32; a bool result (any, all) asks first which
// elements are not zero.
Result<Operand> reducible(const TensorArg& x, Dtype result, NodePlan& plan) {
  if (!is_byte(result)) return converted(x, result, plan);
  if (result != Dtype::boolean || x.dtype == Dtype::boolean) return converted(x, Dtype::i32, plan);
  SCONCE_TRY(Operand flags, converted(x, Dtype::boolean, plan));
  Operand words = plan.scratch(round_up(x.numel() * 4, 16));
  SCONCE_DO(plan_convert(flags, Dtype::boolean, words, Dtype::i32, x.numel(), plan));
  return words;
}

Result<void> plan_reduction(const Call& call, NodePlan& plan, Reduce op, const TensorArg& x,
                            const Reduction& reduction) {
  SCONCE_TRY(Operand y, plan.output(0, reduction.shape));
  const Dtype dtype = device_dtype(call.output_dtype(0));
  if (reduction.shape.numel() == 0) return {};
  if (reduction.length == 0) {
    SCONCE_CHECK(op != Reduce::amax && op != Reduce::amin, "{} of no elements is undefined; its input has shape {}.",
                 call.node().op, x.shape);
    const double identity = op == Reduce::mean ? std::numeric_limits<double>::quiet_NaN() : op == Reduce::prod;
    return plan_fill(y, dtype, reduction.shape.numel(), identity, plan);
  }
  const Dtype words = is_byte(dtype) ? Dtype::i32 : dtype;
  kernels::reduce kernel{.op = op};
  SCONCE_TRY(kernel.x, reducible(x, dtype, plan));
  kernel.y = is_byte(dtype) ? plan.scratch(round_up(reduction.shape.numel() * 4, 16)) : y;
  kernel.mean_scale = static_cast<float>(1.0 / static_cast<double>(reduction.length));
  kernel.elem = words == Dtype::f32 ? kernels::reduce::Elem::f32 : kernels::reduce::Elem::i32;
  SCONCE_TRY(uint64_t workgroups, fill_kernel(kernel, x, reduction, call.capabilities()));
  SCONCE_DO(plan.dispatch(kernel, workgroups));
  if (!is_byte(dtype)) return {};
  return plan_convert(kernel.y, Dtype::i32, y, dtype, reduction.shape.numel(), plan);
}

}  // namespace

bool share_lines(const record::Capabilities& capabilities, uint64_t lines, uint64_t length, int64_t stride) {
  if (capabilities.adapter_class == record::AdapterClass::software) return length >= 512 && lines < 8;
  // Neighbouring invocations read side by side if a workgroup shares a contiguous line, or if lines are interleaved.
  const bool interleaved = stride >= 16;
  return length >= 64 && (!interleaved || lines < 4096);
}

Result<void> plan_reduce_op(const Call& call, NodePlan& plan, Reduce op) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_TRY(auto dims, call.integers(1));
  SCONCE_TRY(bool keepdim, call.flag_or(2, false));
  SCONCE_TRY(Reduction reduction, read_reduction(x, dims, keepdim));
  return plan_reduction(call, plan, op, x, reduction);
}

Result<void> plan_reduce_all_op(const Call& call, NodePlan& plan, Reduce op) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_TRY(Reduction reduction, read_reduction(x, {}, false));
  return plan_reduction(call, plan, op, x, reduction);
}

Result<void> plan_arg_reduce_op(const Call& call, NodePlan& plan, ArgReduce op) {
  SCONCE_TRY(TensorArg x, call.tensor(0));
  SCONCE_TRY(auto dims, call.integers(1));
  SCONCE_TRY(bool keepdim, call.flag_or(2, false));
  SCONCE_TRY(Reduction reduction, read_reduction(x, dims, keepdim));
  SCONCE_TRY(Operand y, plan.output(0, reduction.shape));
  if (reduction.shape.numel() == 0) return {};
  SCONCE_CHECK(reduction.length > 0, "{} of no elements is undefined; its input has shape {}.", call.node().op,
               x.shape);
  const Dtype dtype = is_float(x.dtype) ? Dtype::f32 : Dtype::i32;
  kernels::arg_reduce kernel{.y = y, .op = op};
  SCONCE_TRY(kernel.x, converted(x, dtype, plan));
  kernel.elem = dtype == Dtype::f32 ? kernels::arg_reduce::Elem::f32 : kernels::arg_reduce::Elem::i32;
  SCONCE_TRY(uint64_t workgroups, fill_kernel(kernel, x, reduction, call.capabilities()));
  return plan.dispatch(kernel, workgroups);
}

}  // namespace sconce::ops
