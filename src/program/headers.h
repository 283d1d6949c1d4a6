// The small fixed headers of .pte and .ptd files and of delegate blobs. All numbers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "program/program.h"
#include "sconce/result.h"

namespace sconce::program {

// How many bytes of a file's start, or of a blob's start, its header needs (less if the file is shorter).
inline constexpr uint64_t kFileHeadSize = 64;
inline constexpr uint64_t kBlobHeadSize = 32;

// Where the parts of a .pte or .ptd file lie. Every part was checked to lie inside the file.
struct FileLayout {
  Range flatbuffer;
  uint64_t segment_base = 0;  // segment offsets count from here
  uint64_t file_size = 0;
};

// A .pte file starts with its flatbuffer; between the identifier ET12 and the root table there may be an extended
// header:
//   8: "eh00"   12: u32 header size   16: u64 flatbuffer size   24: u64 segment base   32: u64 segment size (newer
//   files)
// Without it the flatbuffer is the whole file.
Result<FileLayout> read_pte_head(std::span<const std::byte> head, uint64_t file_size);

// A .ptd file has the same idea with other fields, always present:
//   8: "FH01"   12: u32 header size   16: u64 flatbuffer offset   24: u64 flatbuffer size   32: u64 segment base
// The header lies inside the flatbuffer here too: the offset says where the flatbuffer goes on behind it.
Result<FileLayout> read_ptd_head(std::span<const std::byte> head, uint64_t file_size, uint32_t source);

// Where the parts of a delegate blob lie, as ranges of the file.
struct BlobLayout {
  Range flatbuffer;
  Range constants;
};

// A blob's header:
//   4: "VH00"   8: u16 header size   10: u32 flatbuffer offset   14: u32 flatbuffer size
//   18: u32 offset and 22: u64 size of the constant area; size 0 stands for all that follows
Result<BlobLayout> read_blob_head(std::span<const std::byte> head, Range blob);

}  // namespace sconce::program
