// A program without its constants: what is left of a .pte file are the bytes that the reader asks for, each at its
// place, so a program of gigabytes takes a few hundred kilobytes and its speed can be measured with made-up weights.
//
//   "sconce stripped\n", u64 size of the whole file, u64 count, count times (u64 offset, u64 size), then the bytes of
//   these pieces one after another; little-endian, pieces in rising order and apart.
#pragma once

#include <memory>
#include <vector>

#include "program/reader.h"

namespace sconce::program {

// The stripped form of a program. Errors: those of reading it.
Result<std::vector<std::byte>> strip(ByteSource& pte);

bool is_stripped(std::span<const std::byte> head);

// Reads a stripped file as if it were the whole one; bytes that it lacks are an error.
class StrippedSource final : public ByteSource {
 public:
  static Result<std::unique_ptr<ByteSource>> open(std::unique_ptr<ByteSource> file);

  uint64_t size() const override { return size_; }
  Result<std::span<const std::byte>> read(uint64_t offset, uint64_t size) override;

 private:
  struct Piece {
    uint64_t offset, size, place;  // in the whole file; in the stripped one
  };

  std::unique_ptr<ByteSource> file_;
  uint64_t size_ = 0;
  std::vector<Piece> pieces_;
};

}  // namespace sconce::program
