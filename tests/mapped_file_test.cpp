#include "webgpu/mapped_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace sconce {
namespace {

std::string write_file(const std::string& name, const std::string& text) {
  std::string path = testing::TempDir() + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

TEST(MappedFile, ReadsRangesUpToTheEndOfTheFile) {
  auto file = webgpu::MappedFile::open(write_file("sconce_mapped", "0123456789"));
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ((*file)->size(), 10u);
  auto bytes = (*file)->read(7, 3);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(std::memcmp(bytes->data(), "789", 3), 0);
  EXPECT_TRUE((*file)->read(10, 0));
  EXPECT_FALSE((*file)->read(7, 4));
  EXPECT_FALSE((*file)->read(UINT64_MAX, 2)) << "offset + size must not wrap around";
}

TEST(MappedFile, TakesAnEmptyFile) {
  auto file = webgpu::MappedFile::open(write_file("sconce_empty", ""));
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ((*file)->size(), 0u);
  EXPECT_TRUE((*file)->read(0, 0));
}

TEST(MappedFile, SaysWhyAFileCannotBeOpened) {
  auto missing = webgpu::MappedFile::open(testing::TempDir() + "sconce_no_such_file");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  auto folder = webgpu::MappedFile::open(testing::TempDir());
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, ErrorCode::io);
}

}  // namespace
}  // namespace sconce
