// Tensors in files: .safetensors (named tensors) and NumPy's .npy (one tensor). Little-endian, row-major.
//
// Readers trust nothing: every length, offset, shape and dtype is checked before the data are copied.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sconce/result.h"
#include "sconce/tensor.h"

namespace sconce::io {

// By name, in the names' order.
using NamedTensors = std::map<std::string, Tensor, std::less<>>;

// The dtypes of sconce::Dtype; others (BF16, U16, ...) are errors. Errors: corrupt_file, unsupported.
Result<NamedTensors> parse_safetensors(std::span<const std::byte> file);
// What the writer added about the file as a whole, string by string. Errors: corrupt_file.
Result<std::map<std::string, std::string>> parse_safetensors_metadata(std::span<const std::byte> file);
std::vector<std::byte> format_safetensors(const NamedTensors& tensors);

// Versions 1 to 3 of the format; Fortran order only where it makes no difference. Errors: corrupt_file, unsupported.
Result<Tensor> parse_npy(std::span<const std::byte> file);
std::vector<std::byte> format_npy(const Tensor& tensor);

// By the path's ending, .safetensors or .npy; the tensor of a .npy file has the name "". Errors: those of the parsers
// and of read_file, each naming the file; invalid_argument for another ending.
Result<NamedTensors> read_tensors(const std::filesystem::path& path);
// The same endings; .npy takes exactly one tensor.
Result<void> write_tensors(const std::filesystem::path& path, const NamedTensors& tensors);

}  // namespace sconce::io
