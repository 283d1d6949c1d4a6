#include "program/constants.h"

#include "base/math.h"

namespace sconce::program {
namespace {

using wire::pte::SubsegmentOffsets;

// The pieces of one segment. Entry 0 is reserved for tensors without bytes.
Result<std::vector<Range>> read_pieces(const SubsegmentOffsets* pieces, const std::vector<Range>& segments,
                                       ItemBudget& budget) {
  std::vector<Range> result;
  if (!pieces || count(pieces->offsets()) == 0) return result;
  SCONCE_TRY(uint32_t index, checked_index(pieces->segment_index(), segments.size(), "segment"));
  SCONCE_DO(budget.take(count(pieces->offsets())));
  const Range& segment = segments[index];
  for (uint64_t offset : *pieces->offsets()) {
    if (offset > segment.size)
      return fail(ErrorCode::corrupt_file, "A constant starts at byte {} of segment {}, which has {} bytes.", offset,
                  index, segment.size);
    result.push_back({segment.source, segment.offset + offset, segment.size - offset});
  }
  return result;
}

Result<Constant> piece(const std::vector<Range>& pieces, uint32_t index, uint64_t size, const char* what) {
  SCONCE_TRY(uint32_t checked, checked_index(index, pieces.size(), what));
  const Range& range = pieces[checked];
  if (size > range.size)
    return fail(ErrorCode::corrupt_file, "The {} {} has {} bytes, but its tensor has {}.", what, index, range.size,
                size);
  return constant_at(range, size);
}

}  // namespace

Constant constant_at(Range range, uint64_t size) {
  return {{range.source, range.offset, size}, fmt::format("{}:{}+{}", range.source, range.offset, size)};
}

Result<Constant> find_named(const NamedData& named_data, std::string_view key, uint64_t size) {
  auto found = named_data.find(key);
  if (found == named_data.end())
    return fail(ErrorCode::not_found,
                "The program refers to data named '{}', which is in no file that was given; pass the program's .ptd "
                "file (LoadOptions::data_files, --data).",
                key);
  const Range& range = found->second.range;
  if (size > range.size)
    return fail(ErrorCode::corrupt_file, "The data named '{}' has {} bytes, but its tensor has {}.", key, range.size,
                size);
  // The key stands for all bytes; a tensor of fewer gets a key of its own.
  if (size < range.size) return constant_at(range, size);
  return found->second;
}

Result<ConstantTable> ConstantTable::read(const Flatbuffer<wire::pte::Program>& program, const FileLayout& layout,
                                          ItemBudget& budget, NamedData named_data) {
  ConstantTable table;
  table.named_data_ = std::move(named_data);
  SCONCE_TRY(table.segments_, read_segments(program->segments(), layout, budget));
  SCONCE_DO(read_named_data(program->named_data(), table.segments_, budget, table.named_data_));
  SCONCE_TRY(table.constants_, read_pieces(program->constant_segment(), table.segments_, budget));

  const auto* mutable_segments = program->mutable_data_segments();
  for (uint32_t i = 0; i < count(mutable_segments); ++i) {
    SCONCE_TRY(auto pieces, read_pieces(mutable_segments->Get(i), table.segments_, budget));
    table.mutable_segments_.push_back(std::move(pieces));
  }

  // Bytes inside the flatbuffer, which starts the file.
  auto inside = [&](const flatbuffers::Vector<uint8_t>* bytes) {
    return bytes ? Range{layout.flatbuffer.source, program.offset_of(bytes->data()), bytes->size()} : Range{};
  };
  const auto* buffers = program->constant_buffer();
  SCONCE_DO(budget.take(uint64_t{count(buffers)} + count(program->backend_delegate_data())));
  if (count(buffers) > 0 && !table.constants_.empty())
    return fail(ErrorCode::corrupt_file, "The file has constants both in its flatbuffer and in a segment.");
  for (uint32_t i = 0; i < count(buffers); ++i) table.constants_.push_back(inside(buffers->Get(i)->storage()));
  for (uint32_t i = 0; i < count(program->backend_delegate_data()); ++i)
    table.inline_delegates_.push_back(inside(program->backend_delegate_data()->Get(i)->data()));
  return table;
}

Result<Constant> ConstantTable::constant(uint32_t buffer, uint64_t size) const {
  return piece(constants_, buffer, size, "constant");
}

Result<Constant> ConstantTable::first_contents(uint64_t mutable_segment, uint32_t buffer, uint64_t size) const {
  if (mutable_segment >= mutable_segments_.size())
    return fail(ErrorCode::corrupt_file, "The file refers to mutable segment {}, but it has {} of them.",
                mutable_segment, mutable_segments_.size());
  return piece(mutable_segments_[mutable_segment], buffer, size, "mutable buffer");
}

Result<Range> ConstantTable::delegate_data(const wire::pte::BackendDelegateDataReference* reference) const {
  if (!reference) return fail(ErrorCode::corrupt_file, "A delegate has no data.");
  bool in_segment = reference->location() == wire::pte::DataLocation::SEGMENT;
  const auto& ranges = in_segment ? segments_ : inline_delegates_;
  SCONCE_TRY(uint32_t index,
             checked_index(reference->index(), ranges.size(), in_segment ? "segment" : "delegate data"));
  return ranges[index];
}

}  // namespace sconce::program
