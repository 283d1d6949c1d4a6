#include "program/reader.h"

#include <algorithm>
#include <cassert>

#include "base/error.h"

namespace sconce::program {

Reader::Reader(std::vector<uint64_t> source_sizes) : sizes_(std::move(source_sizes)) {
  assert(!sizes_.empty());
  enter_file(sizes_.size() > 1 ? 1 : 0);
}

// The .ptd files come first, because tensors of the program refer to their keys.
void Reader::enter_file(uint32_t source) {
  stage_ = source == 0 ? Stage::pte_head : Stage::ptd_head;
  wanted_ = {source, 0, std::min(kFileHeadSize, sizes_[source])};
}

void Reader::enter_blob(size_t index) {
  blob_ = index;
  if (index == parsed_.blobs.size()) {
    stage_ = Stage::done;
    return;
  }
  const Range& data = parsed_.blobs[index].data;
  stage_ = Stage::blob_head;
  wanted_ = {data.source, data.offset, std::min(kBlobHeadSize, data.size)};
}

std::optional<Range> Reader::next() const {
  if (stage_ == Stage::done) return std::nullopt;
  return wanted_;
}

Result<void> Reader::supply(std::span<const std::byte> bytes) {
  SCONCE_CHECK(stage_ != Stage::done, "The program was read to its end; no more bytes are wanted.");
  SCONCE_CHECK(bytes.size() == wanted_.size, "The reader asks for {} bytes at offset {}, but {} were supplied.",
               wanted_.size, wanted_.offset, bytes.size());
  budget_.add_bytes(bytes.size());
  uint32_t source = wanted_.source;
  switch (stage_) {
    case Stage::ptd_head: {
      SCONCE_TRY(file_, read_ptd_head(bytes, sizes_[source], source));
      stage_ = Stage::ptd_index;
      wanted_ = file_.flatbuffer;
      return {};
    }
    case Stage::ptd_index: {
      SCONCE_DO(parse_named_data(bytes, file_, budget_, named_data_));
      enter_file(source + 1 < sizes_.size() ? source + 1 : 0);
      return {};
    }
    case Stage::pte_head: {
      SCONCE_TRY(file_, read_pte_head(bytes, sizes_[0]));
      stage_ = Stage::pte_program;
      wanted_ = file_.flatbuffer;
      return {};
    }
    case Stage::pte_program: {
      SCONCE_TRY(parsed_, parse_program(bytes, file_, std::move(named_data_), budget_));
      enter_blob(0);
      return {};
    }
    case Stage::blob_head: {
      SCONCE_TRY(blob_layout_, read_blob_head(bytes, parsed_.blobs[blob_].data));
      stage_ = Stage::blob_graph;
      wanted_ = blob_layout_.flatbuffer;
      return {};
    }
    case Stage::blob_graph: {
      const PendingBlob& pending = parsed_.blobs[blob_];
      Method& method = parsed_.program.methods[pending.method];
      auto blob = parse_blob(bytes, blob_layout_, parsed_.program.named_data, budget_);
      if (!blob)
        return std::unexpected(std::move(blob)
                                   .error()
                                   .within(fmt::format("delegate {}", pending.delegate))
                                   .within("method " + method.name));
      method.delegates[pending.delegate].blob = *std::move(blob);
      enter_blob(blob_ + 1);
      return {};
    }
    case Stage::done:
      break;
  }
  return {};
}

Result<Program> Reader::finish() && {
  if (stage_ != Stage::done)
    return fail(ErrorCode::internal, "The program is taken before all of its ranges were supplied.");
  return std::move(parsed_.program);
}

Result<Program> read_program(std::span<ByteSource* const> sources) {
  std::vector<uint64_t> sizes;
  for (const ByteSource* source : sources) sizes.push_back(source->size());
  Reader reader(std::move(sizes));
  while (auto range = reader.next()) {
    SCONCE_TRY(auto bytes, sources[range->source]->read(range->offset, range->size));
    SCONCE_DO(reader.supply(bytes));
  }
  return std::move(reader).finish();
}

Result<Program> read_program(ByteSource& pte) {
  ByteSource* sources[] = {&pte};
  return read_program(sources);
}

}  // namespace sconce::program
