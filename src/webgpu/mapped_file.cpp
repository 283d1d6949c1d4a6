#include "webgpu/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "program/stripped.h"

namespace sconce::webgpu {
namespace {

std::unexpected<Error> system_error(const char* what, const std::string& path) {
  ErrorCode code = errno == ENOENT ? ErrorCode::not_found : ErrorCode::io;
  return fail(code, "The file '{}' cannot be {}: {}.", path, what, std::strerror(errno));
}

// Closes the descriptor; a mapping outlives it.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

}  // namespace

Result<std::unique_ptr<MappedFile>> MappedFile::open(const std::string& path) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.number < 0) return system_error("opened", path);
  struct stat status {};
  if (::fstat(file.number, &status) != 0) return system_error("examined", path);
  if (!S_ISREG(status.st_mode)) return fail(ErrorCode::io, "'{}' is not a regular file.", path);

  auto size = static_cast<size_t>(status.st_size);
  void* start = nullptr;  // an empty file has nothing to map
  if (size > 0) {
    start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number, 0);
    if (start == MAP_FAILED) return system_error("mapped into memory", path);
  }
  return std::unique_ptr<MappedFile>(new MappedFile({static_cast<const std::byte*>(start), size}));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

Result<std::span<const std::byte>> MappedFile::read(uint64_t offset, uint64_t size) {
  if (offset > bytes_.size() || size > bytes_.size() - offset)
    return fail(ErrorCode::io, "The range of {} bytes at offset {} lies outside the file's {} bytes.", size, offset,
                bytes_.size());
  return bytes_.subspan(offset, size);
}

namespace {

// A .pte file, or what `sconce strip` made of one.
Result<std::unique_ptr<program::ByteSource>> open_source(const std::string& path) {
  SCONCE_TRY(std::unique_ptr<program::ByteSource> file, MappedFile::open(path));
  SCONCE_TRY(std::span<const std::byte> head, file->read(0, std::min<uint64_t>(file->size(), 64)));
  if (program::is_stripped(head)) return program::StrippedSource::open(std::move(file));
  return file;
}

}  // namespace

Result<ProgramFiles> open_program(const std::string& path, std::span<const std::string> data_files) {
  ProgramFiles files;
  SCONCE_TRY(files.sources.emplace_back(), open_source(path));
  for (const std::string& data : data_files) {
    SCONCE_TRY(files.sources.emplace_back(), MappedFile::open(data));
  }
  std::vector<program::ByteSource*> sources;
  for (const auto& source : files.sources) sources.push_back(source.get());
  auto program = program::read_program(sources);
  if (!program) {
    std::string names = path;
    for (const std::string& data : data_files) names += ", " + data;
    return std::unexpected(std::move(program.error()).within(std::move(names)));
  }
  files.program = *std::move(program);
  return files;
}

}  // namespace sconce::webgpu
