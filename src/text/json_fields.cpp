#include "text/json_fields.h"

#include "base/error.h"
#include "io/files.h"

namespace sconce {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{256} << 20;
constexpr int kMaxDepth = 32;  // copying and printing a value recurse

using Json = nlohmann::json;

// The value of `key`, or null.
const Json& field(const Json& object, const char* key) {
  static const Json null;
  auto found = object.find(key);
  return found == object.end() ? null : *found;
}

// A value as it stands in the file, cut to what a message can hold.
std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() <= 60 ? text : text.substr(0, 60) + "...";
}

}  // namespace

Result<std::string> read_text(const std::filesystem::path& path) {
  SCONCE_TRY(auto bytes, io::read_file(path, kMaxFileBytes));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<Json> read_json_object(const std::filesystem::path& path) {
  SCONCE_TRY(std::string text, read_text(path));
  bool too_deep = false;
  auto within_depth = [&](int depth, Json::parse_event_t, Json&) {
    too_deep |= depth > kMaxDepth;
    return !too_deep;
  };
  Json json = Json::parse(text, within_depth, /*allow_exceptions=*/false);
  if (too_deep)
    return fail(ErrorCode::corrupt_file, "The file {} nests JSON values more than {} deep.", path.string(), kMaxDepth);
  if (!json.is_object()) return fail(ErrorCode::corrupt_file, "The file {} holds no JSON object.", path.string());
  return json;
}

Result<std::optional<bool>> flag_field(const Json& object, const char* key) {
  const Json& value = field(object, key);
  if (value.is_null()) return std::nullopt;
  if (!value.is_boolean())
    return fail(ErrorCode::corrupt_file, "{} is {} but must be true or false.", key, shown(value));
  return value.get<bool>();
}

Result<std::optional<double>> number_field(const Json& object, const char* key, double least, double most) {
  const Json& value = field(object, key);
  if (value.is_null()) return std::nullopt;
  double number = value.is_number() ? value.get<double>() : least - 1;
  if (!(number >= least && number <= most))
    return fail(ErrorCode::corrupt_file, "{} is {} but must be a number from {} to {}.", key, shown(value), least,
                most);
  return number;
}

Result<std::optional<int64_t>> integer_field(const Json& object, const char* key, int64_t most) {
  const Json& value = field(object, key);
  if (value.is_null()) return std::nullopt;
  return integer_value(value, key, most);
}

Result<int64_t> integer_value(const Json& value, const char* what, int64_t most) {
  // An unsigned number above 2^63 becomes negative here and is refused as well.
  int64_t number = value.is_number_integer() ? value.get<int64_t>() : -1;
  if (number < 0 || number > most)
    return fail(ErrorCode::corrupt_file, "{} is {} but must be an integer from 0 to {}.", what, shown(value), most);
  return number;
}

}  // namespace sconce
