#include "ops/movement/strided_copy.h"

#include "kernels.h"
#include "ops/shared/elements.h"

namespace sconce::ops {
namespace {

Result<void> copy_words(const StridedCopy& copy, std::array<int64_t, 2> offsets, bool vec4, NodePlan& plan) {
  using Unit = kernels::strided_copy::Unit;
  const uint64_t count = copy.box.numel();
  kernels::strided_copy kernel{.from_units = copy.from,
                               .to_units = copy.to,
                               .count = static_cast<uint32_t>(count),
                               .rank = copy.box.rank(),
                               .from_offset = static_cast<uint32_t>(offsets[0]),
                               .to_offset = static_cast<uint32_t>(offsets[1]),
                               .unit = vec4 ? Unit::vec4u : Unit::u32};
  SCONCE_TRY(kernel.dims, copy.box.dims<15>());
  return plan.dispatch(kernel, div_ceil(count, kElementwiseInvocations));
}

Result<void> copy_bytes(const StridedCopy& copy, NodePlan& plan) {
  // The words from the first byte of the box to its last one.
  const uint64_t first = copy.to_offset / 4;
  const uint64_t words = (copy.to_offset + copy.box.last_offset(1)) / 4 - first + 1;
  kernels::strided_copy_bytes kernel{.from_words = copy.from,
                                     .to_words = copy.to,
                                     .first_word = static_cast<uint32_t>(first),
                                     .words = static_cast<uint32_t>(words),
                                     .rank = copy.box.rank(),
                                     .from_offset = static_cast<uint32_t>(copy.from_offset),
                                     .to_offset = static_cast<uint32_t>(copy.to_offset)};
  SCONCE_TRY(kernel.dims, copy.box.dims<14>());
  return plan.dispatch(kernel, div_ceil(words, kElementwiseInvocations));
}

}  // namespace

Result<void> plan_strided_copy(StridedCopy copy, NodePlan& plan) {
  if (copy.box.numel() == 0) return {};
  std::array<int64_t, 2> offsets = {copy.from_offset, copy.to_offset};
  if (copy.element_bytes != 4 && copy.element_bytes != 1)
    return fail(ErrorCode::unsupported, "Elements of {} bytes are not copied here.", copy.element_bytes);
  // Bytes that come in fours on both sides are words.
  const bool words = copy.element_bytes == 4 || copy.box.widen(4, offsets);
  if (!words) return copy_bytes(copy, plan);
  if (copy.box.contiguous()) return plan.copy(copy.from, offsets[0] * 4, copy.to, offsets[1] * 4, copy.box.numel() * 4);
  const bool vec4 = copy.box.widen(4, offsets);
  return copy_words(copy, offsets, vec4, plan);
}

Result<void> plan_strided_view(const TensorArg& x, size_t i, const Shape& shape, int64_t offset, const Strides& strides,
                               NodePlan& plan) {
  SCONCE_TRY(Operand y, plan.output(i, shape));
  StridedCopy copy{.from = x, .to = y, .from_offset = offset, .element_bytes = x.device_size()};
  const Strides to = row_major_strides(shape);
  for (size_t d = 0; d < shape.rank(); ++d) copy.box.add(shape[d], strides[d], to[d]);
  return plan_strided_copy(copy, plan);
}

}  // namespace sconce::ops
