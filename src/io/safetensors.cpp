// A .safetensors file: u64 length of the header; the header, a JSON object that maps each name to {"dtype", "shape",
// "data_offsets"}; the data, to which the offsets are relative.
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/math.h"
#include "io/tensor_files.h"

namespace sconce::io {
namespace {

using nlohmann::json;

// The format's own limit.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;

constexpr std::pair<Dtype, const char*> kDtypes[] = {
    {Dtype::f32, "F32"}, {Dtype::f16, "F16"}, {Dtype::f64, "F64"}, {Dtype::i64, "I64"},
    {Dtype::i32, "I32"}, {Dtype::u8, "U8"},   {Dtype::i8, "I8"},   {Dtype::boolean, "BOOL"},
};

Result<Dtype> parse_dtype(const json& value) {
  if (value.is_string())
    for (auto [dtype, name] : kDtypes)
      if (value.get_ref<const std::string&>() == name) return dtype;
  return fail(ErrorCode::unsupported,
              "The dtype {} is not one that Sconce reads (F32, F16, F64, I64, I32, U8, I8, BOOL).", value.dump());
}

Result<std::vector<int64_t>> parse_counts(const json& entry, const char* key) {
  auto found = entry.find(key);
  std::vector<int64_t> counts;
  if (found != entry.end() && found->is_array()) {
    for (const json& item : *found) {
      if (!item.is_number_unsigned() || item.get<uint64_t>() > INT64_MAX) break;
      counts.push_back(item.get<int64_t>());
    }
    if (counts.size() == found->size()) return counts;
  }
  return fail(ErrorCode::corrupt_file, "The header has no list of counts named \"{}\".", key);
}

Result<Tensor> parse_tensor(const json& entry, std::span<const std::byte> data) {
  if (!entry.is_object()) return fail(ErrorCode::corrupt_file, "The header's entry is not an object.");
  SCONCE_TRY(Dtype dtype, parse_dtype(entry.value("dtype", json())));
  SCONCE_TRY(std::vector<int64_t> dims, parse_counts(entry, "shape"));
  SCONCE_TRY(Shape shape, Shape::from(dims));
  SCONCE_TRY(std::vector<int64_t> offsets, parse_counts(entry, "data_offsets"));
  const uint64_t bytes = shape.numel() * size_of(dtype);
  if (offsets.size() != 2 || offsets[0] > offsets[1] || static_cast<uint64_t>(offsets[1]) > data.size() ||
      static_cast<uint64_t>(offsets[1] - offsets[0]) != bytes)
    return fail(ErrorCode::corrupt_file,
                "The data_offsets {} do not give the {} bytes of {} of shape {} within the {} bytes of data.",
                entry["data_offsets"].dump(), bytes, dtype, shape, data.size());
  auto part = data.subspan(static_cast<size_t>(offsets[0]), bytes);
  return Tensor{dtype, shape, {part.begin(), part.end()}};
}

struct Header {
  json entries;
  std::span<const std::byte> data;
};

Result<Header> parse_header(std::span<const std::byte> file) {
  uint64_t header_bytes = 0;
  if (file.size() < sizeof header_bytes)
    return fail(ErrorCode::corrupt_file, "A safetensors file of {} bytes has no header.", file.size());
  std::memcpy(&header_bytes, file.data(), sizeof header_bytes);
  if (header_bytes > kMaxHeaderBytes || header_bytes > file.size() - sizeof header_bytes)
    return fail(ErrorCode::corrupt_file, "The header claims {} bytes of a file of {} bytes.", header_bytes,
                file.size());
  const auto text = file.subspan(sizeof header_bytes, header_bytes);
  const auto* begin = reinterpret_cast<const char*>(text.data());
  json entries = json::parse(begin, begin + text.size(), nullptr, /*allow_exceptions=*/false);
  if (!entries.is_object()) return fail(ErrorCode::corrupt_file, "The header is not a JSON object.");
  return Header{std::move(entries), file.subspan(sizeof header_bytes + header_bytes)};
}

}  // namespace

Result<NamedTensors> parse_safetensors(std::span<const std::byte> file) {
  SCONCE_TRY(const Header header, parse_header(file));
  NamedTensors tensors;
  for (const auto& [name, entry] : header.entries.items()) {
    if (name == "__metadata__") continue;
    auto tensor = parse_tensor(entry, header.data);
    if (!tensor) return std::unexpected(std::move(tensor).error().within("tensor " + name));
    tensors.emplace(name, *std::move(tensor));
  }
  return tensors;
}

Result<std::map<std::string, std::string>> parse_safetensors_metadata(std::span<const std::byte> file) {
  SCONCE_TRY(const Header header, parse_header(file));
  std::map<std::string, std::string> metadata;
  const auto found = header.entries.find("__metadata__");
  if (found == header.entries.end()) return metadata;
  for (const auto& [key, value] : found->items()) {
    if (!value.is_string())
      return fail(ErrorCode::corrupt_file, "The metadata {} is not a string but {}.", key, value.dump());
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

std::vector<std::byte> format_safetensors(const NamedTensors& tensors) {
  json header = json::object();
  uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    const char* dtype = "";
    for (auto [candidate, text] : kDtypes)
      if (candidate == tensor.dtype) dtype = text;
    header[name] = {{"dtype", dtype},
                    {"shape", std::vector<int64_t>(tensor.shape.begin(), tensor.shape.end())},
                    {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string text = header.dump();
  text.resize(round_up(text.size(), 8), ' ');  // so that the data are aligned
  const uint64_t header_bytes = text.size();

  std::vector<std::byte> file(sizeof header_bytes + header_bytes);
  std::memcpy(file.data(), &header_bytes, sizeof header_bytes);
  std::memcpy(file.data() + sizeof header_bytes, text.data(), text.size());
  file.reserve(file.size() + offset);
  for (const auto& [name, tensor] : tensors) file.insert(file.end(), tensor.bytes.begin(), tensor.bytes.end());
  return file;
}

}  // namespace sconce::io
