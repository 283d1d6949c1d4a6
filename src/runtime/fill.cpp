#include "runtime/fill.h"

#include <cstring>

namespace sconce::runtime {
namespace {

// Knuth's multiplicative hash of an element's number: no two neighbours are alike.
uint32_t hash(uint64_t i) {
  return static_cast<uint32_t>((i + 1) * 0x9e3779b97f4a7c15ull >> 32);
}

template <typename T, typename Make>
void fill(std::span<std::byte> bytes, uint64_t first, Make make) {
  for (size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
    const T value = make(hash(first + i / sizeof(T)));
    std::memcpy(bytes.data() + i, &value, sizeof value);
  }
}

float small(uint32_t bits) {
  return 0.004f + 0.004f * static_cast<float>(bits >> 8) * 0x1.0p-24f;
}

}  // namespace

ConstantFiller::ConstantFiller(std::span<const planner::PackedPart> parts) {
  for (const planner::PackedPart& part : parts)
    for (const planner::PackedSource& source : part.sources)
      dtypes_[{source.range.source, source.range.offset}] = source.dtype;
}

std::span<const std::byte> ConstantFiller::bytes(uint32_t source, uint64_t offset, uint64_t size) {
  bytes_.assign(size, std::byte{0});
  auto found = dtypes_.upper_bound({source, offset});
  if (found == dtypes_.begin()) return bytes_;
  --found;
  const uint64_t first = offset - found->first.second;  // into the constant
  switch (found->second) {
    case Dtype::f32:
      fill<float>(bytes_, first / 4, small);
      break;
    case Dtype::f64:
      fill<double>(bytes_, first / 8, small);
      break;
    case Dtype::f16:  // 2^-8 to 2^-7
      fill<uint16_t>(bytes_, first / 2, [](uint32_t bits) { return static_cast<uint16_t>(0x1c00 | (bits >> 22)); });
      break;
    case Dtype::u8:
    case Dtype::i8:
      fill<uint32_t>(bytes_, first / 4, [](uint32_t bits) { return bits; });
      break;
    case Dtype::i64:
    case Dtype::i32:
    case Dtype::boolean:
      break;
  }
  return bytes_;
}

}  // namespace sconce::runtime
