// A .npy file: "\x93NUMPY", version, the header's length, the header, the data. The header is a Python dictionary in a
// fixed style: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
#include <charconv>
#include <cstring>
#include <string_view>

#include "base/math.h"
#include "io/tensor_files.h"

namespace sconce::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

constexpr std::pair<Dtype, std::string_view> kDtypes[] = {
    {Dtype::f32, "<f4"}, {Dtype::f16, "<f2"}, {Dtype::f64, "<f8"}, {Dtype::i64, "<i8"},
    {Dtype::i32, "<i4"}, {Dtype::u8, "|u1"},  {Dtype::i8, "|i1"},  {Dtype::boolean, "|b1"},
};

// What follows "'key':" in the header, without leading spaces; empty when the key is missing.
std::string_view value_of(std::string_view header, std::string_view key) {
  const std::string quoted = fmt::format("'{}':", key);
  const size_t at = header.find(quoted);
  if (at == header.npos) return {};
  header.remove_prefix(at + quoted.size());
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

Result<Dtype> parse_dtype(std::string_view header) {
  std::string_view text = value_of(header, "descr");
  if (!text.starts_with('\'')) return fail(ErrorCode::unsupported, "The header's 'descr' is not one plain dtype.");
  text = text.substr(1, text.find('\'', 1) - 1);
  for (auto [dtype, name] : kDtypes)
    if (text == name) return dtype;
  return fail(ErrorCode::unsupported,
              "The dtype {} is not one that Sconce reads (<f4, <f2, <f8, <i8, <i4, |u1, |i1, |b1).", text);
}

// "(3, 4)", "(3,)" or "()".
Result<Shape> parse_shape(std::string_view header) {
  std::string_view text = value_of(header, "shape");
  const size_t close = text.find(')');
  if (!text.starts_with('(') || close == text.npos)
    return fail(ErrorCode::corrupt_file, "The header's 'shape' is not a tuple.");
  text = text.substr(1, close - 1);
  std::vector<int64_t> dims;
  while (!text.empty()) {
    int64_t dim = 0;
    const char* end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, dim);
    if (problem != std::errc()) return fail(ErrorCode::corrupt_file, "The header's 'shape' holds \"{}\".", text);
    dims.push_back(dim);
    text = std::string_view(stop, end);
    text.remove_prefix(std::min(text.find_first_not_of(", "), text.size()));
  }
  return Shape::from(dims);
}

// The header's text and where the data begin.
Result<std::pair<std::string_view, size_t>> find_header(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (!text.starts_with(kMagic) || text.size() < kMagic.size() + 4)
    return fail(ErrorCode::corrupt_file, "The file of {} bytes does not begin like a .npy file.", file.size());
  const int major = text[kMagic.size()];
  if (major < 1 || major > 3)
    return fail(ErrorCode::unsupported, "The .npy format's version is {}, not 1 to 3.", major);
  const size_t length_bytes = major == 1 ? 2 : 4;
  const size_t begin = kMagic.size() + 2 + length_bytes;
  uint32_t length = 0;
  if (text.size() >= begin) std::memcpy(&length, text.data() + begin - length_bytes, length_bytes);
  if (text.size() < begin || length > text.size() - begin)
    return fail(ErrorCode::corrupt_file, "The header claims {} bytes of a file of {} bytes.", length, file.size());
  return std::pair(text.substr(begin, length), begin + length);
}

}  // namespace

Result<Tensor> parse_npy(std::span<const std::byte> file) {
  SCONCE_TRY(auto header, find_header(file));
  SCONCE_TRY(Dtype dtype, parse_dtype(header.first));
  SCONCE_TRY(Shape shape, parse_shape(header.first));
  if (!value_of(header.first, "fortran_order").starts_with("False") && shape.rank() > 1)
    return fail(ErrorCode::unsupported,
                "The array is stored in Fortran order; save numpy.ascontiguousarray(array) instead.");
  const auto data = file.subspan(header.second);
  if (data.size() != shape.numel() * size_of(dtype))
    return fail(ErrorCode::corrupt_file, "The file has {} bytes of data where {} of shape {} take {}.", data.size(),
                dtype, shape, shape.numel() * size_of(dtype));
  return Tensor{dtype, shape, {data.begin(), data.end()}};
}

std::vector<std::byte> format_npy(const Tensor& tensor) {
  std::string_view descr;
  for (auto [dtype, name] : kDtypes)
    if (dtype == tensor.dtype) descr = name;
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                                   fmt::join(tensor.shape.dims(), ", "), tensor.shape.rank() == 1 ? "," : "");
  // The data begin at a multiple of 64, and the header ends with a line break.
  const size_t prefix = kMagic.size() + 4;
  header.resize(round_up(prefix + header.size() + 1, 64) - prefix - 1, ' ');
  header += '\n';
  std::string start = fmt::format("{}\x01{}", kMagic, '\0');
  start += static_cast<char>(header.size() & 0xff);
  start += static_cast<char>(header.size() >> 8);
  start += header;

  const auto bytes = std::as_bytes(std::span(start));
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  file.insert(file.end(), tensor.bytes.begin(), tensor.bytes.end());
  return file;
}

}  // namespace sconce::io
