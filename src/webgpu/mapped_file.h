// A file whose bytes the operating system pages in as they are touched, so that weights go from the disk to the GPU
// without a copy on the heap.
#pragma once

#include <memory>
#include <string>

#include "program/program.h"
#include "program/reader.h"

namespace sconce::webgpu {

class MappedFile final : public program::ByteSource {
 public:
  // Errors: not_found when there is no such file, io when it is no regular file or cannot be read. The file must not
  // shrink while it is mapped: touching bytes behind its end ends the process.
  static Result<std::unique_ptr<MappedFile>> open(const std::string& path);
  ~MappedFile() override;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  uint64_t size() const override { return bytes_.size(); }
  // Valid as long as this object. Costs nothing until the bytes are touched.
  Result<std::span<const std::byte>> read(uint64_t offset, uint64_t size) override;

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

// A program on disk.
struct ProgramFiles {
  std::vector<std::unique_ptr<program::ByteSource>> sources;  // the .pte file, then the .ptd files
  program::Program program;
};

// Maps the files and reads the program; its weights are not touched. Errors: those of MappedFile::open and of the
// reader.
Result<ProgramFiles> open_program(const std::string& path, std::span<const std::string> data_files);

}  // namespace sconce::webgpu
