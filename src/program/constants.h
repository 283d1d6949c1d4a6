// Where each constant of a program lies: in the flatbuffer, in a segment behind it, or under a key.
#pragma once

#include <string_view>
#include <vector>

#include "program/flatbuffer.h"
#include "program/headers.h"
#include "program/program.h"
#include "program/pte_generated.h"

namespace sconce::program {

// Reads the segments of a file as ranges: `Segments` is the vector of segments of a .pte or .ptd flatbuffer.
template <typename Segments>
Result<std::vector<Range>> read_segments(const Segments* segments, const FileLayout& layout, ItemBudget& budget);

// Adds a file's keys to `named_data`; a key that is there already keeps its bytes (they are equal by contract).
template <typename Entries>
Result<void> read_named_data(const Entries* entries, const std::vector<Range>& segments, ItemBudget& budget,
                             NamedData& named_data);

// The constant of that key, which must have at least `size` bytes.
Result<Constant> find_named(const NamedData& named_data, std::string_view key, uint64_t size);

// The constant in the first `size` bytes of `range`, keyed by its place.
Constant constant_at(Range range, uint64_t size);

// What the tensors and delegates of a .pte file refer to by index.
class ConstantTable {
 public:
  static Result<ConstantTable> read(const Flatbuffer<wire::pte::Program>& program, const FileLayout& layout,
                                    ItemBudget& budget, NamedData named_data);

  Result<Constant> constant(uint32_t buffer, uint64_t size) const;
  Result<Constant> first_contents(uint64_t mutable_segment, uint32_t buffer, uint64_t size) const;
  Result<Range> delegate_data(const wire::pte::BackendDelegateDataReference* reference) const;
  const NamedData& named_data() const { return named_data_; }

 private:
  // A piece of a file that starts somewhere in a range and may reach up to its end.
  using Pieces = std::vector<Range>;

  std::vector<Range> segments_;
  Pieces constants_;
  std::vector<Pieces> mutable_segments_;
  std::vector<Range> inline_delegates_;
  NamedData named_data_;
};

// ---- implementation of the templates ----

template <typename Segments>
Result<std::vector<Range>> read_segments(const Segments* segments, const FileLayout& layout, ItemBudget& budget) {
  SCONCE_DO(budget.take(count(segments)));
  std::vector<Range> result;
  for (uint32_t i = 0; i < count(segments); ++i) {
    uint64_t room = layout.file_size - layout.segment_base;
    uint64_t offset = segments->Get(i)->offset(), size = segments->Get(i)->size();
    if (offset > room || size > room - offset)
      return fail(ErrorCode::corrupt_file,
                  "Segment {} has {} bytes at offset {} behind byte {}, but the file has {} bytes; it is cut short.", i,
                  size, offset, layout.segment_base, layout.file_size);
    result.push_back({layout.flatbuffer.source, layout.segment_base + offset, size});
  }
  return result;
}

template <typename Entries>
Result<void> read_named_data(const Entries* entries, const std::vector<Range>& segments, ItemBudget& budget,
                             NamedData& named_data) {
  SCONCE_DO(budget.take(count(entries)));
  for (uint32_t i = 0; i < count(entries); ++i) {
    const auto* entry = entries->Get(i);
    std::string key = text(entry->key());
    if (key.empty()) return fail(ErrorCode::corrupt_file, "Named data {} has no key.", i);
    SCONCE_TRY(uint32_t segment, checked_index(entry->segment_index(), segments.size(), "segment"));
    named_data.try_emplace(key, Constant{segments[segment], key});
  }
  return {};
}

}  // namespace sconce::program
