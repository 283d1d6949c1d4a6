// Reading JSON files that nobody vouches for: every value is checked for its kind and range.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "sconce/result.h"

namespace sconce {

// The bytes of a file of up to 256 MiB. Errors: not_found, io.
Result<std::string> read_text(const std::filesystem::path& path);

// A file that holds one JSON object. Errors: those of read_text, and corrupt_file.
Result<nlohmann::json> read_json_object(const std::filesystem::path& path);

// The fields of an object. A field that is missing or null is empty; one of another kind or outside its range is a
// corrupt_file error that names it.
Result<std::optional<bool>> flag_field(const nlohmann::json& object, const char* key);
Result<std::optional<double>> number_field(const nlohmann::json& object, const char* key, double least, double most);
Result<std::optional<int64_t>> integer_field(const nlohmann::json& object, const char* key, int64_t most);

// An integer from 0 to `most`; `what` names the value in the error.
Result<int64_t> integer_value(const nlohmann::json& value, const char* what, int64_t most);

}  // namespace sconce
