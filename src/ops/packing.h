// How the bytes of a constant are laid out on the GPU. Repacking happens once, on the GPU, while weights stream in.
#pragma once

#include <cstdint>
#include <span>
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
  columns,               // f32 [k, rows]: columns of what is stored are the rows here (scales of 4-bit rows, [K, N])
};

// Rows [first_row, first_row + rows) of one constant, or of several one below the other, in packed form: one buffer.
// There are several parts when one would pass the device's binding limit; they follow each other.
struct ConstantPart {
  Operand data;
  uint32_t first_row = 0;
  uint32_t rows = 0;

  uint64_t end_row() const { return first_row + uint64_t{rows}; }
};

const ConstantPart& part_with(std::span<const ConstantPart> parts, uint64_t row);

// One step of packing: some stored rows of one constant, just uploaded, into their place in a part.
struct PackCall {
  const Shape& shape;  // serialized shape of the whole constant
  Operand raw;         // whole stored rows [raw_first, raw_first + raw_rows), from byte 0
  uint32_t raw_first = 0, raw_rows = 0;
  Operand part;                      // destination: all of the part
  uint32_t part_rows = 0;            // of it
  uint32_t first_row = 0, rows = 0;  // of the constant: what belongs into this part
  uint32_t to_row = 0;               // where first_row goes
};

struct PackingInfo {
  std::string_view name;
  // Bytes of a part of `rows` rows of constants of this shape and element type.
  uint64_t (*packed_bytes)(const Shape& shape, Dtype dtype, uint32_t rows);
  // Emits the repack dispatch; null for raw, which is uploaded into its place.
  Result<void> (*pack)(const PackCall& call, NodePlan& plan);
  bool rows_are_columns = false;  // a row is a column of what is stored, not a row
};

const PackingInfo& packing_info(Packing packing);
inline constexpr size_t kPackingCount = 4;

}  // namespace sconce::ops
