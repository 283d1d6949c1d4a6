#include "io/tensor_files.h"

#include "base/error.h"
#include "io/files.h"

namespace sconce::io {
namespace {

Result<NamedTensors> parse(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  if (path.extension() == ".safetensors") return parse_safetensors(bytes);
  SCONCE_TRY(Tensor tensor, parse_npy(bytes));
  NamedTensors tensors;
  tensors.emplace("", std::move(tensor));
  return tensors;
}

Result<void> check_ending(const std::filesystem::path& path) {
  SCONCE_CHECK(path.extension() == ".safetensors" || path.extension() == ".npy",
               "The name of a tensor file ends in .safetensors or .npy, but {} does not.", path.string());
  return {};
}

}  // namespace

Result<NamedTensors> read_tensors(const std::filesystem::path& path) {
  SCONCE_DO(check_ending(path));
  SCONCE_TRY(std::vector<std::byte> bytes, read_file(path));
  auto tensors = parse(path, bytes);
  if (!tensors) return std::unexpected(std::move(tensors).error().within(path.string()));
  return tensors;
}

Result<void> write_tensors(const std::filesystem::path& path, const NamedTensors& tensors) {
  SCONCE_DO(check_ending(path));
  if (path.extension() == ".safetensors") return write_file(path, format_safetensors(tensors));
  SCONCE_CHECK(tensors.size() == 1, "A .npy file holds one tensor, but there are {}; write {} as .safetensors instead.",
               tensors.size(), path.string());
  return write_file(path, format_npy(tensors.begin()->second));
}

}  // namespace sconce::io
