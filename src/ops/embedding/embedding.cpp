#include "ops/embedding/embedding.h"

#include <algorithm>

#include "kernels.h"

namespace sconce::ops {
namespace {

constexpr uint32_t kNanBits = 0x7fc00000;

// The shape of a lookup: the indices' dims, then the width of a row.
Result<Shape> lookup_shape(const TensorArg& indices, uint64_t width) {
  SCONCE_CHECK(indices.rank() < Shape::kMaxRank, "The indices have rank {}; an embedding takes at most rank {}.",
               indices.rank(), Shape::kMaxRank - 1);
  Shape shape = indices.shape;
  shape.push_back(static_cast<int64_t>(width));
  return shape;
}

}  // namespace

// aten.embedding(weight [V, E], indices [...], ...) -> y [..., E]. Only the GPU sees indices that are computed in the
// run, so an index outside the table gives a row of NaN instead of an error.
Result<void> plan_embedding(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg weight, call.tensor(0, Dtype::f32));
  SCONCE_TRY(TensorArg indices, call.tensor(1, Dtype::i32));
  SCONCE_CHECK(weight.rank() == 2, "The table has shape {}, but an embedding needs [rows, width].", weight.shape);
  const auto width = static_cast<uint64_t>(weight.shape[1]);
  SCONCE_TRY(Shape shape, lookup_shape(indices, width));
  SCONCE_TRY(Operand y, plan.output(0, shape));
  SCONCE_TRY(auto parts, call.row_parts(0));
  for (const ConstantPart& part : parts)
    SCONCE_DO(plan.dispatch(kernels::embedding{.weight = part.data,
                                               .indices = indices,
                                               .y = y,
                                               .table_rows = static_cast<uint32_t>(weight.shape[0]),
                                               .first_row = part.first_row,
                                               .rows = part.rows,
                                               .width = static_cast<uint32_t>(width),
                                               .count = static_cast<uint32_t>(indices.numel()),
                                               .nan = kNanBits},
                            div_ceil(shape.numel(), 64)));
  return {};
}

// et_vk.embedding_q4gsw(weight u8 [V, E/2], scales [V, groups], group_size, indices [...], is_linear_weight)
//   -> y [..., E] = (nibble - 8) * scale
// Two weights a byte; the earlier one is in the low nibble if is_linear_weight, else in the high one. The table has the
// packing of the linears, so a model whose output layer has the same weights stores them once.
Result<void> plan_q4_embedding(const Call& call, NodePlan& plan) {
  SCONCE_TRY(TensorArg weight, call.tensor(0, Dtype::u8));
  SCONCE_TRY(TensorArg scales, call.tensor(1, Dtype::f32));
  SCONCE_TRY(int64_t group_size, call.integer(2));
  SCONCE_TRY(TensorArg indices, call.tensor(3, Dtype::i32));
  SCONCE_TRY(bool low_first, call.flag_or(4, false));
  SCONCE_CHECK(weight.rank() == 2 && scales.rank() == 2 && scales.shape[0] >= weight.shape[0],
               "The table has shape {} and its scales {}, but [rows, width / 2] and [rows, groups] are needed.",
               weight.shape, scales.shape);
  const uint64_t width = 2 * static_cast<uint64_t>(weight.shape[1]);
  const auto groups = static_cast<uint64_t>(scales.shape[1]);
  SCONCE_CHECK(group_size > 0 && groups >= div_ceil(width, static_cast<uint64_t>(group_size)),
               "Rows of {} elements in groups of {} need more than the {} scales they have.", width, group_size,
               groups);
  SCONCE_TRY(auto blocks, call.constant_parts(0, low_first ? Packing::q4_blocks : Packing::q4_blocks_high_first));
  SCONCE_TRY(auto scale_parts, call.row_parts(1));
  SCONCE_TRY(Shape shape, lookup_shape(indices, width));
  SCONCE_TRY(Operand y, plan.output(0, shape));
  const uint64_t words = indices.numel() * div_ceil(width, 8);
  // Each dispatch takes the rows that lie in one part of the blocks and one of the scales.
  const auto table_rows = static_cast<uint64_t>(weight.shape[0]);
  for (uint64_t first = 0, end = 0; first < table_rows; first = end) {
    const ConstantPart &block = part_with(blocks, first), &scale = part_with(scale_parts, first);
    end = std::min({table_rows, block.end_row(), scale.end_row()});
    SCONCE_DO(plan.dispatch(kernels::q4_embedding{.blocks = block.data,
                                                  .scales = scale.data,
                                                  .indices = indices,
                                                  .y = y,
                                                  .table_rows = static_cast<uint32_t>(table_rows),
                                                  .first_row = static_cast<uint32_t>(first),
                                                  .rows = static_cast<uint32_t>(end - first),
                                                  .block_row = block.first_row,
                                                  .block_rows = block.rows,
                                                  .scale_row = scale.first_row,
                                                  .width = static_cast<uint32_t>(width),
                                                  .group_size = static_cast<uint32_t>(group_size),
                                                  .groups = static_cast<uint32_t>(groups),
                                                  .count = static_cast<uint32_t>(indices.numel()),
                                                  .nan = kNanBits},
                            div_ceil(words, 64)));
  }
  return {};
}

}  // namespace sconce::ops
