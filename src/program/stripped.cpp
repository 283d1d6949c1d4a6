#include "program/stripped.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/error.h"

namespace sconce::program {
namespace {

constexpr std::string_view kMagic = "sconce stripped\n";
constexpr uint64_t kHeadSize = 32;  // magic, size, count
constexpr uint64_t kMostPieces = 1 << 20;

struct Piece {
  uint64_t offset, size;
};

// Notes what is read.
class Recorder final : public ByteSource {
 public:
  explicit Recorder(ByteSource& source) : source_(source) {}
  uint64_t size() const override { return source_.size(); }
  Result<std::span<const std::byte>> read(uint64_t offset, uint64_t size) override {
    pieces_.push_back({offset, size});
    return source_.read(offset, size);
  }

  // In rising order, without overlaps.
  std::vector<Piece> pieces() const {
    std::vector<Piece> sorted = pieces_, merged;
    std::ranges::sort(sorted, {}, &Piece::offset);
    for (const Piece& piece : sorted) {
      const uint64_t end = piece.offset + piece.size;
      if (merged.empty() || piece.offset > merged.back().offset + merged.back().size) {
        merged.push_back(piece);
      } else {
        merged.back().size = std::max(merged.back().size, end - merged.back().offset);
      }
    }
    return merged;
  }

 private:
  ByteSource& source_;
  std::vector<Piece> pieces_;
};

void append(std::vector<std::byte>& bytes, const void* data, size_t size) {
  const auto* from = static_cast<const std::byte*>(data);
  bytes.insert(bytes.end(), from, from + size);
}

uint64_t word_at(std::span<const std::byte> bytes, size_t at) {
  uint64_t word;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

}  // namespace

bool is_stripped(std::span<const std::byte> head) {
  return head.size() >= kHeadSize && std::memcmp(head.data(), kMagic.data(), kMagic.size()) == 0;
}

Result<std::vector<std::byte>> strip(ByteSource& pte) {
  Recorder recorder(pte);
  SCONCE_DO(read_program(recorder));
  const std::vector<Piece> pieces = recorder.pieces();
  std::vector<std::byte> bytes;
  append(bytes, kMagic.data(), kMagic.size());
  for (uint64_t word : {pte.size(), static_cast<uint64_t>(pieces.size())}) append(bytes, &word, sizeof word);
  for (const Piece& piece : pieces) append(bytes, &piece, sizeof piece);
  for (const Piece& piece : pieces) {
    SCONCE_TRY(std::span<const std::byte> contents, pte.read(piece.offset, piece.size));
    append(bytes, contents.data(), contents.size());
  }
  return bytes;
}

Result<std::unique_ptr<ByteSource>> StrippedSource::open(std::unique_ptr<ByteSource> file) {
  auto source = std::make_unique<StrippedSource>();
  SCONCE_TRY(std::span<const std::byte> head, file->read(0, kHeadSize));
  source->size_ = word_at(head, 16);
  const uint64_t count = word_at(head, 24);
  const uint64_t room = file->size() - kHeadSize;
  if (count > kMostPieces || count * 16 > room)
    return fail(ErrorCode::corrupt_file, "The stripped program says that it has {} pieces, but the file has {} bytes.",
                count, file->size());
  uint64_t place = kHeadSize + count * 16, end = 0;
  for (uint64_t i = 0; i < count; ++i) {
    SCONCE_TRY(std::span<const std::byte> entry, file->read(kHeadSize + 16 * i, 16));
    const StrippedSource::Piece piece{word_at(entry, 0), word_at(entry, 8), place};
    if (piece.offset < end || piece.offset > source->size_ || piece.size > source->size_ - piece.offset ||
        piece.size > file->size() - place)
      return fail(ErrorCode::corrupt_file,
                  "Piece {} of the stripped program, {} bytes at offset {}, lies outside of its {} bytes or overlaps "
                  "another.",
                  i, piece.size, piece.offset, source->size_);
    end = piece.offset + piece.size;
    place += piece.size;
    source->pieces_.push_back(piece);
  }
  source->file_ = std::move(file);
  return source;
}

Result<std::span<const std::byte>> StrippedSource::read(uint64_t offset, uint64_t size) {
  for (const Piece& piece : pieces_)
    if (offset >= piece.offset && offset - piece.offset <= piece.size && size <= piece.size - (offset - piece.offset))
      return file_->read(piece.place + (offset - piece.offset), size);
  return fail(ErrorCode::unsupported,
              "The {} bytes at offset {} are a constant, and the program is stripped of its constants; measure it with "
              "`sconce bench --fill-weights`, or use the whole file.",
              size, offset);
}

}  // namespace sconce::program
