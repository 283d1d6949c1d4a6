#include "planner/constants.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/math.h"

namespace sconce::planner {
namespace {

// Rows as they are stored: the first dim.
uint64_t stored_rows(const Shape& shape, const ops::PackingInfo& info) {
  if (info.rows_are_columns) return shape.rank() < 2 ? 1 : static_cast<uint64_t>(shape[0]);
  return shape.empty() ? 1 : static_cast<uint64_t>(shape[0]);
}

// Rows in the packing's sense.
uint64_t rows_of(const Shape& shape, const ops::PackingInfo& info) {
  if (info.rows_are_columns && !shape.empty()) return static_cast<uint64_t>(shape.back());
  return stored_rows(shape, info);
}

// Equal keys are equal parts.
std::string key_of(std::span<const graph::TensorValue* const> constants, const ops::PackingInfo& info) {
  std::string key;
  for (const graph::TensorValue* constant : constants)
    key += fmt::format("{} of {} rows\n", constant->constant->key, rows_of(constant->bound, info));
  return key;
}

// What part [first_row, first_row + rows) takes from constants one below the other.
std::vector<PackedSource> find_sources(std::span<const graph::TensorValue* const> constants,
                                       const ops::PackingInfo& info, uint64_t first_row, uint64_t rows) {
  std::vector<PackedSource> sources;
  uint64_t start = 0;
  for (const graph::TensorValue* constant : constants) {
    const uint64_t end = start + rows_of(constant->bound, info);
    const uint64_t first = std::max(start, first_row), last = std::min(end, first_row + rows);
    if (first < last)
      sources.push_back({constant->constant->range, constant->bound, constant->dtype,
                         static_cast<uint32_t>(first - start), static_cast<uint32_t>(last - first),
                         static_cast<uint32_t>(first - first_row)});
    start = end;
  }
  return sources;
}

record::Convert conversion(Dtype dtype) {
  if (dtype == Dtype::i64) return record::Convert::i64_to_i32;
  if (dtype == Dtype::f64) return record::Convert::f64_to_f32;
  return record::Convert::none;
}

// What `bytes` of a stored constant take on the device.
uint64_t uploaded(uint64_t bytes, Dtype dtype) {
  return conversion(dtype) == record::Convert::none ? bytes : bytes / 2;
}

}  // namespace

Result<std::vector<ops::ConstantPart>> ConstantTable::request(std::span<const graph::TensorValue* const> constants,
                                                              ops::Packing packing) {
  const auto key = std::pair(key_of(constants, ops::packing_info(packing)), packing);
  auto found = index_.find(key);
  if (found == index_.end()) {
    const uint32_t first = static_cast<uint32_t>(parts_.size());
    SCONCE_DO(add_parts(constants, packing));
    found = index_.emplace(key, std::pair(first, static_cast<uint32_t>(parts_.size()) - first)).first;
  }
  std::vector<ops::ConstantPart> result;
  for (uint32_t i = 0; i < found->second.second; ++i) {
    const PackedPart& part = parts_[found->second.first + i];
    result.push_back({{ops::Operand::Kind::packed, found->second.first + i, part.bytes}, part.first_row, part.rows});
  }
  return result;
}

Result<void> ConstantTable::add_parts(std::span<const graph::TensorValue* const> constants, ops::Packing packing) {
  const ops::PackingInfo& info = ops::packing_info(packing);
  const Shape& shape = constants.front()->bound;
  const Dtype dtype = constants.front()->dtype;
  uint64_t rows = 0;
  for (const graph::TensorValue* constant : constants) rows += rows_of(constant->bound, info);
  // Parts begin at a multiple of 64 rows, so that no block of a packing straddles two of them.
  uint64_t part_rows = std::max<uint64_t>(rows, 1);
  while (part_rows > 64 &&
         info.packed_bytes(shape, dtype, static_cast<uint32_t>(part_rows)) > capabilities_.max_storage_binding_bytes)
    part_rows = round_up(div_ceil(part_rows, 2), 64);
  for (uint64_t row = 0; row < std::max<uint64_t>(rows, 1); row += part_rows) {
    PackedPart part;
    part.rows = static_cast<uint32_t>(std::min(part_rows, rows - std::min(rows, row)));
    part.sources = find_sources(constants, info, row, part.rows);
    part.packing = packing;
    part.first_row = static_cast<uint32_t>(row);
    part.bytes = info.packed_bytes(shape, dtype, part.rows);
    if (part.bytes > capabilities_.max_buffer_bytes)
      return fail(ErrorCode::unsupported, "A constant of shape {} takes {} bytes, but this device allows {} a buffer.",
                  shape, part.bytes, capabilities_.max_buffer_bytes);
    parts_.push_back(std::move(part));
  }
  return {};
}

uint64_t ConstantTable::total_bytes() const {
  uint64_t total = 0;
  for (const PackedPart& part : parts_) total += std::max<uint64_t>(16, round_up(part.bytes, 16));
  return total;
}

namespace {

// Uploads a constant into its place as it is stored, in whole elements a chunk, so that conversion never meets half of
// one.
void load_raw(const PackedPart& part, const PackedSource& source, StepWriter& writer) {
  const uint64_t row_bytes = source.range.size / stored_rows(source.shape, ops::packing_info(part.packing));
  const uint64_t from = source.range.offset + source.first_row * row_bytes;
  const uint64_t to = uploaded(source.to_row * row_bytes, source.dtype), size = source.rows * row_bytes;
  for (uint64_t at = 0; at < size; at += ConstantTable::kChunkBytes)
    writer.upload(source.range.source, from + at, part.buffer, to + uploaded(at, source.dtype),
                  std::min(ConstantTable::kChunkBytes, size - at), conversion(source.dtype));
}

// The stored rows that hold what a part takes from a constant.
struct StoredRows {
  uint64_t first, count, bytes;  // bytes of one
  uint64_t a_chunk;              // rows that are uploaded and packed at a time: a kernel binds them
};

StoredRows stored_rows_of(const PackedSource& source, const ops::PackingInfo& info,
                          const record::Capabilities& device) {
  const uint64_t all = stored_rows(source.shape, info);
  StoredRows rows{.first = source.first_row, .count = source.rows, .bytes = source.range.size / all};
  if (info.rows_are_columns) rows.first = 0, rows.count = all;
  const uint64_t most = std::min(ConstantTable::kChunkBytes, device.max_storage_binding_bytes);
  rows.a_chunk = std::clamp<uint64_t>(most / rows.bytes, 1, rows.count);
  return rows;
}

}  // namespace

Result<record::Step> ConstantTable::plan_load(record::Tables& tables) {
  uint64_t staging_bytes = 0;
  for (PackedPart& part : parts_) {
    part.buffer = add_buffer(tables, part.bytes, record::BufferUse::constant);
    const ops::PackingInfo& info = ops::packing_info(part.packing);
    if (info.pack == nullptr) continue;
    for (const PackedSource& source : part.sources) {
      if (source.range.size == 0) continue;
      const StoredRows rows = stored_rows_of(source, info, capabilities_);
      staging_bytes = std::max(staging_bytes, uploaded(rows.a_chunk * rows.bytes, source.dtype));
    }
  }
  const uint32_t staging =
      staging_bytes == 0 ? graph::kNone : add_buffer(tables, staging_bytes, record::BufferUse::staging);
  StepWriter writer(tables);
  for (const PackedPart& part : parts_) {
    for (const PackedSource& source : part.sources) {
      if (source.range.size == 0) continue;
      if (ops::packing_info(part.packing).pack == nullptr) {
        load_raw(part, source, writer);
      } else {
        SCONCE_DO(load_packed(part, source, writer, staging));
      }
    }
  }
  return writer.finish();
}

Result<void> ConstantTable::load_packed(const PackedPart& part, const PackedSource& source, StepWriter& writer,
                                        uint32_t staging) {
  const ops::PackingInfo& info = ops::packing_info(part.packing);
  const StoredRows stored = stored_rows_of(source, info, capabilities_);
  for (uint64_t done = 0; done < stored.count; done += stored.a_chunk) {
    const uint64_t first = stored.first + done, rows = std::min(stored.a_chunk, stored.count - done);
    writer.upload(source.range.source, source.range.offset + first * stored.bytes, staging, 0, rows * stored.bytes,
                  conversion(source.dtype));
    ops::NodePlan plan;
    plan.begin(nullptr, nullptr, capabilities_);
    SCONCE_DO(info.pack({.shape = source.shape,
                         .raw = {ops::Operand::Kind::value, staging, uploaded(rows * stored.bytes, source.dtype)},
                         .raw_first = static_cast<uint32_t>(first),
                         .raw_rows = static_cast<uint32_t>(rows),
                         .part = {ops::Operand::Kind::value, part.buffer, part.bytes},
                         .part_rows = part.rows,
                         .first_row = source.first_row,
                         .rows = source.rows,
                         .to_row = source.to_row},
                        plan));
    // Here operands name buffers directly: there is no graph behind a packing.
    SCONCE_DO(
        writer.append(plan, graph::kNone, [](const ops::Operand& operand) -> Result<uint32_t> { return operand.id; }));
  }
  return {};
}

}  // namespace sconce::planner
