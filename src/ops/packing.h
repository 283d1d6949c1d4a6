// How the bytes of a constant are laid out on the GPU. Repacking happens once, on the GPU, while weights stream in.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ops/operand.h"
#include "record/capabilities.h"
#include "sconce/tensor.h"

namespace sconce::ops {

class NodePlan;

enum class Packing : uint8_t {
  raw,                   // as stored in the program
  q4_blocks,             // 4-bit rows in blocks of 32 weights, interleaved by row: linear/q4_pack.wgsl
  q4_blocks_high_first,  // the same, from bytes that hold the earlier weight in their high nibble
};

// Rows [first_row, first_row + rows) of a constant in its packed form: one buffer. A constant has several parts when it
// would pass the device's binding limit as one.
struct ConstantPart {
  Operand data;
  uint32_t first_row = 0;
  uint32_t rows = 0;
};

// One step of packing: raw bytes of some rows, just uploaded, into their place in a part.
struct PackCall {
  const Shape& shape;                // serialized shape of the whole constant; rows are its first dim
  Operand raw;                       // whole rows [first_row, first_row + rows), as stored, from byte 0
  Operand part;                      // destination: all of the part
  uint32_t first_row = 0, rows = 0;  // relative to the part
  uint32_t part_rows = 0;
};

struct PackingInfo {
  std::string_view name;
  // Bytes of a part of `rows` rows of a constant of this shape and element type.
  uint64_t (*packed_bytes)(const Shape& shape, Dtype dtype, uint32_t rows);
  // Emits the repack dispatch; null for raw, which is uploaded into its place.
  Result<void> (*pack)(const PackCall& call, NodePlan& plan);
};

const PackingInfo& packing_info(Packing packing);
inline constexpr size_t kPackingCount = 3;

}  // namespace sconce::ops
