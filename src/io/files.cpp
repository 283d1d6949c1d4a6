#include "io/files.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "base/error.h"

namespace sconce::io {

Result<std::vector<std::byte>> read_file(const std::filesystem::path& path, uint64_t most) {
  std::error_code problem;
  const uint64_t size = std::filesystem::file_size(path, problem);
  if (problem) {
    const bool missing = problem == std::errc::no_such_file_or_directory;
    return fail(missing ? ErrorCode::not_found : ErrorCode::io, "{} cannot be read: {}.", path.string(),
                problem.message());
  }
  if (size > most)
    return fail(ErrorCode::io, "{} has {} bytes, but a file of this kind has at most {}.", path.string(), size, most);
  std::vector<std::byte> bytes(size);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (!file) return fail(ErrorCode::io, "{} cannot be read: {}.", path.string(), std::strerror(errno));
  return bytes;
}

Result<void> write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) return fail(ErrorCode::io, "{} cannot be written: {}.", path.string(), std::strerror(errno));
  return {};
}

}  // namespace sconce::io
