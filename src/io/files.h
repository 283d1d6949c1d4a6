// Whole files as bytes, with errors that say what is wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "sconce/result.h"

namespace sconce::io {

// Errors: not_found; io when it cannot be read or has more than `most` bytes.
Result<std::vector<std::byte>> read_file(const std::filesystem::path& path, uint64_t most = UINT64_MAX);

// Replaces the file's contents. Errors: io.
Result<void> write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace sconce::io
