// A .pte or .ptd file in memory, for tests of the reader.
#pragma once

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "program/reader.h"

namespace sconce::test {

class MemorySource : public program::ByteSource {
 public:
  explicit MemorySource(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}

  uint64_t size() const override { return bytes_.size(); }
  Result<std::span<const std::byte>> read(uint64_t offset, uint64_t size) override {
    largest_read_ = std::max(largest_read_, size);
    // A copy at an address that is only byte-aligned: readers may not rely on more.
    copy_.resize(size + 1);
    if (size > 0) std::memcpy(copy_.data() + 1, bytes_.data() + offset, size);
    return std::span<const std::byte>(copy_).subspan(1, size);
  }

  const std::vector<std::byte>& bytes() const { return bytes_; }
  uint64_t largest_read() const { return largest_read_; }

 private:
  std::vector<std::byte> bytes_, copy_;
  uint64_t largest_read_ = 0;
};

// A file of tests/fixtures, by its path there.
inline std::vector<std::byte> fixture_bytes(const std::string& path) {
  std::ifstream file(std::string(SCONCE_FIXTURES) + "/" + path, std::ios::binary);
  std::vector<char> chars{std::istreambuf_iterator<char>(file), {}};
  auto bytes = std::as_bytes(std::span(chars));
  return {bytes.begin(), bytes.end()};
}

inline Result<program::Program> read_fixture(const std::string& path) {
  MemorySource source(fixture_bytes(path));
  return program::read_program(source);
}

}  // namespace sconce::test
