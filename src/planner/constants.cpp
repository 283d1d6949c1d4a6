#include "planner/constants.h"

#include <algorithm>

#include "base/math.h"

namespace sconce::planner {
namespace {

uint64_t rows_of(const Shape& shape) {
  return shape.empty() ? 1 : static_cast<uint64_t>(shape[0]);
}

record::Convert conversion(Dtype dtype) {
  if (dtype == Dtype::i64) return record::Convert::i64_to_i32;
  if (dtype == Dtype::f64) return record::Convert::f64_to_f32;
  return record::Convert::none;
}

}  // namespace

Result<std::vector<ops::ConstantPart>> ConstantTable::request(const graph::TensorValue& constant,
                                                              ops::Packing packing) {
  const Shape& shape = constant.bound;
  const uint64_t rows = rows_of(shape);
  const auto key = std::make_tuple(constant.constant->key, packing, static_cast<int64_t>(rows));
  auto found = index_.find(key);
  if (found == index_.end()) {
    const ops::PackingInfo& info = ops::packing_info(packing);
    const uint64_t row_bytes = rows == 0 ? 0 : constant.constant->range.size / rows;
    // Parts begin at a multiple of 64 rows, so that no block of a packing straddles two of them.
    uint64_t part_rows = std::max<uint64_t>(rows, 1);
    while (part_rows > 64 && info.packed_bytes(shape, constant.dtype, static_cast<uint32_t>(part_rows)) >
                                 capabilities_.max_storage_binding_bytes)
      part_rows = round_up(div_ceil(part_rows, 2), 64);
    const uint32_t first = static_cast<uint32_t>(parts_.size());
    for (uint64_t row = 0; row < std::max<uint64_t>(rows, 1); row += part_rows) {
      PackedPart part;
      part.rows = static_cast<uint32_t>(std::min(part_rows, rows - std::min(rows, row)));
      part.range = constant.constant->range;
      part.range.offset += row * row_bytes;
      part.range.size = part.rows * row_bytes;
      part.shape = shape;
      part.dtype = constant.dtype;
      part.packing = packing;
      part.first_row = static_cast<uint32_t>(row);
      part.bytes = info.packed_bytes(shape, constant.dtype, part.rows);
      if (part.bytes > capabilities_.max_buffer_bytes)
        return fail(ErrorCode::unsupported,
                    "A constant of shape {} takes {} bytes, but this device allows {} a buffer.", shape, part.bytes,
                    capabilities_.max_buffer_bytes);
      parts_.push_back(part);
    }
    found = index_.emplace(key, std::pair(first, static_cast<uint32_t>(parts_.size()) - first)).first;
  }
  std::vector<ops::ConstantPart> result;
  for (uint32_t i = 0; i < found->second.second; ++i) {
    const PackedPart& part = parts_[found->second.first + i];
    result.push_back({{ops::Operand::Kind::packed, found->second.first + i, part.bytes}, part.first_row, part.rows});
  }
  return result;
}

uint64_t ConstantTable::total_bytes() const {
  uint64_t total = 0;
  for (const PackedPart& part : parts_) total += std::max<uint64_t>(16, round_up(part.bytes, 16));
  return total;
}

Result<record::Step> ConstantTable::plan_load(record::Tables& tables) {
  uint64_t staging_bytes = 0;
  for (PackedPart& part : parts_) {
    part.buffer = add_buffer(tables, part.bytes, record::BufferUse::constant);
    if (ops::packing_info(part.packing).pack == nullptr) continue;
    const uint64_t row_bytes = part.rows == 0 ? 0 : part.range.size / part.rows;
    staging_bytes = std::max(staging_bytes, std::max(row_bytes, std::min(part.range.size, kChunkBytes)));
  }
  const uint32_t staging =
      staging_bytes == 0 ? graph::kNone : add_buffer(tables, staging_bytes, record::BufferUse::staging);
  StepWriter writer(tables);
  for (const PackedPart& part : parts_) SCONCE_DO(load_part(part, writer, staging));
  return writer.finish();
}

Result<void> ConstantTable::load_part(const PackedPart& part, StepWriter& writer, uint32_t staging) {
  const ops::PackingInfo& info = ops::packing_info(part.packing);
  if (part.range.size == 0) return {};
  if (info.pack == nullptr) {
    // Whole elements a chunk, so that conversion never meets half of one.
    const record::Convert convert = conversion(part.dtype);
    const uint64_t halve = convert == record::Convert::none ? 1 : 2;
    for (uint64_t at = 0; at < part.range.size; at += kChunkBytes)
      writer.upload(part.range.source, part.range.offset + at, part.buffer, at / halve,
                    std::min(kChunkBytes, part.range.size - at), convert);
    return {};
  }
  const uint64_t row_bytes = part.range.size / part.rows;
  const uint64_t chunk_rows = std::max<uint64_t>(1, kChunkBytes / row_bytes);
  for (uint64_t row = 0; row < part.rows; row += chunk_rows) {
    const uint64_t rows = std::min<uint64_t>(chunk_rows, part.rows - row);
    writer.upload(part.range.source, part.range.offset + row * row_bytes, staging, 0, rows * row_bytes,
                  record::Convert::none);
    ops::NodePlan plan;
    plan.begin(nullptr, nullptr, capabilities_);
    const ops::Operand raw{ops::Operand::Kind::value, staging, rows * row_bytes};
    const ops::Operand packed{ops::Operand::Kind::value, part.buffer, part.bytes};
    SCONCE_DO(
        info.pack({part.shape, raw, packed, static_cast<uint32_t>(row), static_cast<uint32_t>(rows), part.rows}, plan));
    // Here operands name buffers directly: there is no graph behind a packing.
    SCONCE_DO(
        writer.append(plan, graph::kNone, [](const ops::Operand& operand) -> Result<uint32_t> { return operand.id; }));
  }
  return {};
}

}  // namespace sconce::planner
