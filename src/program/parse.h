// From verified flatbuffers to plain data. Each function checks every index and number that it copies.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "program/flatbuffer.h"
#include "program/headers.h"
#include "program/program.h"

namespace sconce::program {

// A delegate whose blob is still to be read.
struct PendingBlob {
  size_t method = 0, delegate = 0;  // indices into Program::methods and Method::delegates
  Range data;
};
struct ParsedProgram {
  Program program;
  std::vector<PendingBlob> blobs;  // of the backends that Sconce replaces
};

// `bytes` are those of layout.flatbuffer; `named_data` comes from the .ptd files.
Result<ParsedProgram> parse_program(std::span<const std::byte> bytes, const FileLayout& layout, NamedData named_data,
                                    ItemBudget& budget);

// `bytes` are those of layout.flatbuffer.
Result<Blob> parse_blob(std::span<const std::byte> bytes, const BlobLayout& layout, const NamedData& named_data,
                        ItemBudget& budget);

// Adds the keys of a .ptd file; `bytes` are those of layout.flatbuffer.
Result<void> parse_named_data(std::span<const std::byte> bytes, const FileLayout& layout, ItemBudget& budget,
                              NamedData& named_data);

}  // namespace sconce::program
