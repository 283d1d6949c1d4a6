#include "ops/shared/elements.h"

#include <bit>
#include <cmath>

#include "kernels.h"

namespace sconce::ops {

Result<uint32_t> bits_of(double number, Dtype dtype) {
  if (is_float(dtype)) return std::bit_cast<uint32_t>(static_cast<float>(number));
  SCONCE_CHECK(number >= INT32_MIN && number <= INT32_MAX, "The number {} does not fit the 32 bits of an integer.",
               number);
  return static_cast<uint32_t>(static_cast<int32_t>(number));
}

Result<void> plan_convert(const Operand& x, Dtype from, const Operand& y, Dtype to, uint64_t count, NodePlan& plan) {
  using Have = kernels::convert::Have;
  using Want = kernels::convert::Want;
  auto kind = [](Dtype dtype) -> std::optional<uint32_t> {
    switch (device_dtype(dtype)) {
      case Dtype::f32:
        return 0;
      case Dtype::i32:
        return 1;
      case Dtype::u8:
        return 2;
      case Dtype::i8:
        return 3;
      case Dtype::boolean:
        return 4;
      default:
        return std::nullopt;
    }
  };
  static_assert(static_cast<uint32_t>(Have::boolean) == 4 && static_cast<uint32_t>(Want::boolean) == 4);
  const auto have = kind(from), want = kind(to);
  if (!have || !want) return fail(ErrorCode::unsupported, "Elements of {} do not convert to {} here.", from, to);
  return plan.dispatch(kernels::convert{.x = x,
                                        .y = y,
                                        .count = static_cast<uint32_t>(count),
                                        .have = static_cast<Have>(*have),
                                        .want = static_cast<Want>(*want)},
                       elementwise_workgroups(count));
}

Result<Operand> converted(const TensorArg& tensor, Dtype to, NodePlan& plan) {
  if (device_dtype(tensor.dtype) == device_dtype(to)) return tensor;
  Operand scratch = plan.scratch(round_up(tensor.numel() * (is_byte(to) ? 1 : 4), 16));
  SCONCE_DO(plan_convert(tensor, tensor.dtype, scratch, to, tensor.numel(), plan));
  return scratch;
}

Result<void> plan_fill(const Operand& y, Dtype dtype, uint64_t count, double number, NodePlan& plan) {
  if (dtype == Dtype::boolean) number = number != 0.0;
  SCONCE_TRY(uint32_t bits, bits_of(number, dtype));
  if (is_byte(dtype)) bits = (bits & 0xff) * 0x01010101u;
  const uint64_t words = is_byte(dtype) ? div_ceil(count, 4) : count;
  return plan.dispatch(
      kernels::fill{
          .y = y, .count = static_cast<uint32_t>(words), .start_bits = bits, .elem = kernels::fill::Elem::i32},
      elementwise_workgroups(words));
}

}  // namespace sconce::ops
