#include "io/tensor_files.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "io/files.h"

namespace sconce::io {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// A safetensors file with this header and data.
std::vector<std::byte> safetensors(std::string_view header, size_t data_bytes) {
  const uint64_t size = header.size();
  std::string file(reinterpret_cast<const char*>(&size), sizeof size);
  file += header;
  file.append(data_bytes, '\x01');
  const auto bytes = bytes_of(file);
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> npy(std::string_view header, size_t data_bytes, char version = 1) {
  std::string file = "\x93NUMPY";
  file += {version, '\0', static_cast<char>(header.size()), '\0'};
  if (version > 1) file += std::string(2, '\0');
  file += header;
  file.append(data_bytes, '\x01');
  const auto bytes = bytes_of(file);
  return {bytes.begin(), bytes.end()};
}

std::vector<Tensor> one_of_each_dtype_and_rank() {
  std::vector<Tensor> tensors;
  for (Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::f64, Dtype::i64, Dtype::i32, Dtype::u8, Dtype::i8, Dtype::boolean})
    for (Shape shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{2, 0, 3}, Shape{1, 2, 3, 4}}) {
      Tensor tensor = Tensor::zeros(dtype, shape);
      for (size_t i = 0; i < tensor.bytes.size(); ++i) tensor.bytes[i] = static_cast<std::byte>(i & 1);
      tensors.push_back(std::move(tensor));
    }
  return tensors;
}

void expect_equal(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.dtype, b.dtype);
  EXPECT_EQ(a.shape, b.shape);
  EXPECT_EQ(a.bytes, b.bytes);
}

TEST(TensorFiles, KeepEveryDtypeAndRank) {
  NamedTensors all;
  for (const Tensor& tensor : one_of_each_dtype_and_rank()) {
    auto read = parse_npy(format_npy(tensor));
    ASSERT_TRUE(read) << read.error().to_string();
    expect_equal(*read, tensor);
    all.emplace(fmt::format("{} \"{}\"", name_of(tensor.dtype), tensor.shape.to_string()), tensor);
  }
  auto read = parse_safetensors(format_safetensors(all));
  ASSERT_TRUE(read) << read.error().to_string();
  ASSERT_EQ(read->size(), all.size());
  for (const auto& [name, tensor] : all) expect_equal(read->at(name), tensor);
}

TEST(TensorFiles, WriteWhatNumPyReads) {
  // numpy.save of an int32 array [[1, 2, 3]] gives these 128 + 12 bytes.
  const auto file = format_npy(Tensor::of<int32_t>({1, 3}, {1, 2, 3}));
  std::string expected = "\x93NUMPY";
  expected += {1, 0, 118, 0};
  std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (1, 3), }";
  header.resize(117, ' ');
  expected += header + "\n";
  expected += std::string({1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0});
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(file.data()), file.size()), expected);
}

TEST(Safetensors, RefusesBadFiles) {
  struct Case {
    const char* header;
    size_t data;
    ErrorCode code;
  };
  const Case cases[] = {
      {"[]", 0, ErrorCode::corrupt_file},
      {"{", 0, ErrorCode::corrupt_file},
      {R"({"a": 1})", 0, ErrorCode::corrupt_file},
      {R"({"a": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}})", 2, ErrorCode::unsupported},
      {R"({"a": {"shape": [1], "data_offsets": [0, 4]}})", 4, ErrorCode::unsupported},
      {R"({"a": {"dtype": "F32", "data_offsets": [0, 4]}})", 4, ErrorCode::corrupt_file},
      {R"({"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}})", 4, ErrorCode::corrupt_file},
      {R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 5]}})", 8, ErrorCode::corrupt_file},
      {R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}})", 8, ErrorCode::corrupt_file},
      {R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0]}})", 8, ErrorCode::corrupt_file},
      {R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})", 7, ErrorCode::corrupt_file},
      {R"({"a": {"dtype": "F32", "shape": [4294967295, 4294967295], "data_offsets": [0, 4]}})", 4,
       ErrorCode::invalid_argument},
  };
  for (const Case& c : cases) {
    auto read = parse_safetensors(safetensors(c.header, c.data));
    ASSERT_FALSE(read) << c.header;
    EXPECT_EQ(read.error().code, c.code) << c.header << ": " << read.error().to_string();
  }
  EXPECT_FALSE(parse_safetensors(bytes_of("1234567")));
  EXPECT_FALSE(parse_safetensors(bytes_of("\xff\xff\xff\xff\xff\xff\xff\xff{}")));
}

TEST(Safetensors, SkipsMetadata) {
  auto read = parse_safetensors(safetensors(
      R"({"__metadata__": {"format": "pt"}, "a": {"dtype": "U8", "shape": [], "data_offsets": [1, 2]}})", 2));
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(read->size(), 1u);
  EXPECT_EQ(read->at("a").as<uint8_t>()[0], 1);
}

TEST(Npy, RefusesBadFiles) {
  struct Case {
    const char* header;
    size_t data;
    ErrorCode code;
  };
  const Case cases[] = {
      {"{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", 4, ErrorCode::unsupported},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", 4, ErrorCode::unsupported},
      {"{'fortran_order': False, 'shape': (1,), }", 4, ErrorCode::unsupported},
      {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }", 16, ErrorCode::unsupported},
      {"{'descr': '<f4', 'fortran_order': False, }", 4, ErrorCode::corrupt_file},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1", 4, ErrorCode::corrupt_file},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (x,), }", 4, ErrorCode::corrupt_file},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", 4, ErrorCode::invalid_argument},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 4, ErrorCode::corrupt_file},
  };
  for (const Case& c : cases) {
    auto read = parse_npy(npy(c.header, c.data));
    ASSERT_FALSE(read) << c.header;
    EXPECT_EQ(read.error().code, c.code) << c.header << ": " << read.error().to_string();
  }
  EXPECT_FALSE(parse_npy(bytes_of("\x93NUMPY")));
  EXPECT_FALSE(parse_npy(npy("", 0, 9)));
  EXPECT_FALSE(parse_npy(bytes_of("not a tensor")));
}

TEST(Npy, ReadsLaterVersionsAndOneDimInFortranOrder) {
  auto read = parse_npy(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }", 8, 3));
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(read->shape, Shape{2});
}

TEST(TensorFiles, GoByTheEndingAndNameTheFile) {
  const auto folder = std::filesystem::path(testing::TempDir());
  NamedTensors two;
  two.emplace("a", Tensor::of<float>({2}, {1, 2}));
  two.emplace("b", Tensor::of<int64_t>({}, {7}));
  ASSERT_TRUE(write_tensors(folder / "two.safetensors", two));
  auto read = read_tensors(folder / "two.safetensors");
  ASSERT_TRUE(read) << read.error().to_string();
  expect_equal(read->at("b"), two.at("b"));

  EXPECT_FALSE(write_tensors(folder / "two.npy", two)) << "a .npy file holds one tensor";
  EXPECT_FALSE(write_tensors(folder / "two.txt", two));
  EXPECT_EQ(read_tensors(folder / "none.npy").error().code, ErrorCode::not_found);
  ASSERT_TRUE(write_file(folder / "bad.npy", bytes_of("nothing")));
  EXPECT_NE(read_tensors(folder / "bad.npy").error().to_string().find("bad.npy"), std::string::npos);
  EXPECT_EQ(read_file(folder / "bad.npy", 3).error().code, ErrorCode::io);
  EXPECT_EQ(write_file(folder / "no" / "such" / "folder", {}).error().code, ErrorCode::io);
}

}  // namespace
}  // namespace sconce::io
