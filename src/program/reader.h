// Reads .pte programs without doing any I/O: the reader says which bytes it wants next, and whoever has them (a mapped
// file, HTTP ranges, a host's buffer) supplies them. Weights are never asked for.
//
//   Reader reader({pte_size, ptd_size, ...});
//   while (auto range = reader.next()) reader.supply(bytes of *range);
//   Program program = std::move(reader).finish();
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "program/parse.h"
#include "program/program.h"

namespace sconce::program {

class Reader {
 public:
  // The sizes in bytes of the sources: the .pte file, then the .ptd files that hold named data outside of it. A range's
  // `source` is an index into these.
  explicit Reader(std::vector<uint64_t> source_sizes);

  // The range to supply next, which lies inside its source, or nothing when all was read.
  std::optional<Range> next() const;

  // Takes the bytes of the range that next() returned; they need to live only for this call. The order of ranges is:
  // the head and index of each .ptd file, the head and flatbuffer of the .pte file, the head and flatbuffer of each
  // delegate. After an error the reader is of no more use.
  Result<void> supply(std::span<const std::byte> bytes);

  // The program; an error before all ranges were supplied.
  Result<Program> finish() &&;

 private:
  enum class Stage { ptd_head, ptd_index, pte_head, pte_program, blob_head, blob_graph, done };

  void enter_file(uint32_t source);
  void enter_blob(size_t index);

  std::vector<uint64_t> sizes_;
  Stage stage_ = Stage::done;
  Range wanted_;
  FileLayout file_;
  size_t blob_ = 0;  // index into parsed_.blobs
  BlobLayout blob_layout_;
  ItemBudget budget_;
  NamedData named_data_;
  ParsedProgram parsed_;
};

// Bytes by range: a mapped file on the native side.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual uint64_t size() const = 0;
  // The bytes [offset, offset + size), which stay valid until the next call of read().
  virtual Result<std::span<const std::byte>> read(uint64_t offset, uint64_t size) = 0;
};

// Reads a program from sources that answer at once: the .pte file, then its .ptd files.
Result<Program> read_program(std::span<ByteSource* const> sources);
Result<Program> read_program(ByteSource& pte);

}  // namespace sconce::program
