#include "ops/quantize/quantize.h"

#include <fmt/ranges.h>

#include "kernels.h"
#include "ops/linear/rows.h"

namespace sconce::ops {
namespace {

using Mapping = kernels::choose_qparams::Mapping;

Result<Mapping> read_mapping(const Call& call, size_t i) {
  SCONCE_TRY(std::string_view name, call.text(i));
  if (name == "ASYMMETRIC") return Mapping::asymmetric;
  if (name == "SYMMETRIC") return Mapping::symmetric;
  if (name == "SYMMETRIC_NO_CLIPPING_ERR") return Mapping::symmetric_no_clipping;
  return fail(ErrorCode::unsupported,
              "The mapping is \"{}\", but ASYMMETRIC, SYMMETRIC or SYMMETRIC_NO_CLIPPING_ERR is needed.", name);
}

// Whether blocks of these sizes are the rows of x.
bool is_by_row(std::span<const int64_t> block, const TensorArg& x) {
  if (block.size() != x.rank() || block.empty()) return false;
  for (size_t d = 0; d + 1 < block.size(); ++d)
    if (block[d] != 1) return false;
  return block.back() == x.shape.back();
}

}  // namespace

// torchao.choose_qparams_affine(x [..., K], mapping, block_size [1, ..., 1, K], target dtype, quant_min, quant_max,
// eps,
//                               scale dtype, zero point dtype, ...) -> scale f32 [...], zero_point i8 [...]
Result<void> plan_choose_qparams_affine(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg x, call.tensor(0, Dtype::f32));
  SCONCE_TRY(Mapping mapping, read_mapping(call, 1));
  SCONCE_TRY(auto block, call.integers(2));
  SCONCE_CHECK(is_by_row(block, x), "Blocks of [{}] are not the rows of a tensor of shape {}.", fmt::join(block, ", "),
               x.shape);
  SCONCE_TRY(double q_min, call.number_or(4, -128));
  SCONCE_TRY(double q_max, call.number_or(5, 127));
  SCONCE_CHECK(-128 <= q_min && q_min < 0 && 0 < q_max && q_max <= 127,
               "Quantized values from {} to {} are not a range of int8 around zero.", q_min, q_max);
  // Where eps is not given, torchao takes the smallest normal number of f32.
  SCONCE_TRY(double eps, call.number_or(6, 0x1p-126));
  SCONCE_CHECK(x.shape.back() > 0 || x.numel() == 0, "Rows without elements have no range; the input has shape {}.",
               x.shape);
  Shape statistics;
  for (size_t d = 0; d + 1 < x.rank(); ++d) statistics.push_back(x.shape[d]);
  SCONCE_TRY(Operand scale, plan.output(0, statistics));
  SCONCE_TRY(Operand zero_point, plan.output(1, statistics));
  const uint64_t rows = leading_count(x.shape);
  return plan.dispatch(kernels::choose_qparams{.x = x,
                                               .scale = scale,
                                               .zero_point = zero_point,
                                               .rows = static_cast<uint32_t>(rows),
                                               .width = static_cast<uint32_t>(x.shape.back()),
                                               .q_min = static_cast<float>(q_min),
                                               .q_max = static_cast<float>(q_max),
                                               .eps = static_cast<float>(eps),
                                               .mapping = mapping},
                       div_ceil(rows, 4));
}

Result<QuantizedRows> read_quantized_rows(const Call& call) {
  QuantizedRows rows;
  SCONCE_TRY(rows.x, call.tensor(0, Dtype::f32));
  SCONCE_TRY(rows.scale, call.tensor(1, Dtype::f32));
  SCONCE_TRY(rows.zero_point, call.tensor(2, Dtype::i8));
  SCONCE_CHECK(rows.x.rank() >= 1, "The input is a single number, but rows are needed.");
  const uint64_t count = leading_count(rows.x.shape);
  SCONCE_CHECK(rows.scale.numel() == count && rows.zero_point.numel() == count,
               "{} rows of shape {} need as many scales and zero points, but these have shapes {} and {}.", count,
               rows.x.shape, rows.scale.shape, rows.zero_point.shape);
  return rows;
}

Result<void> plan_rounding(const QuantizedRows& rows, const Operand& y, NodePlan& plan) {
  const uint64_t count = rows.x.numel();
  return plan.dispatch(kernels::round_rows{.x = rows.x,
                                           .scale = rows.scale,
                                           .zero_point = rows.zero_point,
                                           .y = y,
                                           .count = static_cast<uint32_t>(count),
                                           .width = static_cast<uint32_t>(rows.x.shape.back())},
                       div_ceil(count, 64));
}

// sconce.round_rows(x [..., K], scale [...], zero_point i8 [...]) -> y, shaped like x: x as int8 holds it
Result<void> plan_round_rows(const Call& call, NodePlan& plan) {
  SCONCE_TRY(QuantizedRows rows, read_quantized_rows(call));
  SCONCE_TRY(Operand y, plan.output(0, rows.x.shape));
  return plan_rounding(rows, y, plan);
}

}  // namespace sconce::ops
