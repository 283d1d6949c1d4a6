#include "text/model_directory.h"

#include <algorithm>

#include "base/error.h"
#include "text/json_fields.h"

namespace sconce {
namespace {

using Json = nlohmann::json;
using Path = std::filesystem::path;

// An error about a file's content says which file.
template <typename T>
Result<T> in_file(Result<T> result, const Path& file) {
  if (!result) return std::unexpected(std::move(result).error().within(file.string()));
  return result;
}

bool file_exists(const Path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// A file that may be missing: then an empty object.
Result<Json> read_optional_object(const Path& path) {
  if (!file_exists(path)) return Json::object();
  return read_json_object(path);
}

Result<Tokenizer> read_tokenizer(const Path& directory) {
  if (file_exists(directory) && !std::filesystem::is_directory(directory))
    return fail(ErrorCode::invalid_argument,
                "{} is a file; give the directory that holds it together with tokenizer.json.", directory.string());
  Path file = directory / "tokenizer.json";
  if (!file_exists(file))
    return fail(ErrorCode::not_found,
                "The model directory {} has no tokenizer.json; copy the one that the model was published with, or "
                "export the model again.",
                directory.string());
  SCONCE_TRY(std::string json, read_text(file));
  return in_file(Tokenizer::load(json), file);
}

// Tokens stand in tokenizer_config.json as text or as {"content": text, ...}. Other fields end in _token, too
// ("add_bos_token": true), and are no tokens.
std::optional<std::string> token_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() && value.contains("content")) return token_text(value["content"]);
  return std::nullopt;
}

ChatTemplate::SpecialTokens special_tokens(const Json& config) {
  ChatTemplate::SpecialTokens tokens;
  for (const auto& [name, value] : config.items())
    if (auto text = token_text(value); text && name.ends_with("_token")) tokens.emplace_back(name, *text);
  return tokens;
}

// chat_template in tokenizer_config.json is the template, or a list of {"name", "template"} with one named "default".
std::optional<std::string> template_in(const Json& config) {
  auto field = config.find("chat_template");
  if (field == config.end()) return std::nullopt;
  if (field->is_string()) return field->get<std::string>();
  if (!field->is_array()) return std::nullopt;
  for (const Json& entry : *field) {
    if (!entry.is_object() || !entry.contains("name") || !entry.contains("template")) continue;
    if (entry["name"] == "default" && entry["template"].is_string()) return entry["template"].get<std::string>();
  }
  return std::nullopt;
}

Result<std::optional<ChatTemplate>> read_chat_template(const Path& directory, const Json& config) {
  Path file = directory / "chat_template.jinja";
  std::optional<std::string> source;
  if (file_exists(file)) {
    SCONCE_TRY(source, read_text(file));
  } else {
    file = directory / "tokenizer_config.json";
    source = template_in(config);
  }
  if (!source) return std::nullopt;
  return in_file(ChatTemplate::load(*source, special_tokens(config)), file);
}

// eos_token_id is a number or a list of numbers.
Result<std::vector<int32_t>> eos_token_ids(const Json& generation) {
  std::vector<int32_t> ids;
  auto field = generation.find("eos_token_id");
  if (field == generation.end() || field->is_null()) return ids;
  for (const Json& value : field->is_array() ? *field : Json::array({*field})) {
    SCONCE_TRY(int64_t id, integer_value(value, "eos_token_id", INT32_MAX));
    ids.push_back(static_cast<int32_t>(id));
  }
  return ids;
}

Result<GenerationDefaults> generation_defaults(const Json& generation) {
  constexpr double kLargest = 1e6;
  GenerationDefaults defaults;
  SCONCE_TRY(defaults.stop_tokens, eos_token_ids(generation));
  SCONCE_TRY(defaults.do_sample, flag_field(generation, "do_sample"));
  SCONCE_TRY(defaults.temperature, number_field(generation, "temperature", 0, kLargest));
  SCONCE_TRY(defaults.top_p, number_field(generation, "top_p", 0, 1));
  SCONCE_TRY(defaults.min_p, number_field(generation, "min_p", 0, 1));
  SCONCE_TRY(defaults.top_k, integer_field(generation, "top_k", INT32_MAX));
  SCONCE_TRY(defaults.max_new_tokens, integer_field(generation, "max_new_tokens", INT32_MAX));
  return defaults;
}

// The id of the eos_token in tokenizer_config.json, if it names one.
Result<std::optional<int32_t>> eos_token(const Json& config, const Tokenizer& tokenizer) {
  auto field = config.find("eos_token");
  auto text = field == config.end() ? std::nullopt : token_text(*field);
  if (!text) return std::nullopt;
  auto id = tokenizer.token_id(*text);
  if (!id)
    return fail(ErrorCode::corrupt_file, "The eos_token \"{}\" is no token of the tokenizer.json beside it.", *text);
  return id;
}

}  // namespace

Result<ModelDirectory> ModelDirectory::open(const Path& path) {
  if (!file_exists(path))
    return fail(ErrorCode::not_found, "The model directory {} does not exist; check the path or export the model.",
                path.string());
  Path tokenizer_config = path / "tokenizer_config.json", generation_config = path / "generation_config.json";
  SCONCE_TRY(Tokenizer tokenizer, read_tokenizer(path));
  SCONCE_TRY(Json config, read_optional_object(tokenizer_config));
  SCONCE_TRY(Json generation, read_optional_object(generation_config));
  SCONCE_TRY(auto chat_template, read_chat_template(path, config));
  SCONCE_TRY(auto defaults, in_file(generation_defaults(generation), generation_config));
  SCONCE_TRY(auto eos, in_file(eos_token(config, tokenizer), tokenizer_config));

  auto& stops = defaults.stop_tokens;
  if (eos) stops.push_back(*eos);
  std::ranges::sort(stops);
  stops.erase(std::ranges::unique(stops).begin(), stops.end());
  return ModelDirectory{path, std::move(tokenizer), std::move(chat_template), std::move(defaults)};
}

Result<std::vector<int32_t>> ModelDirectory::encode_chat(std::span<const Message> messages) const {
  if (!chat_template)
    return fail(ErrorCode::not_found,
                "The model directory {} has no chat template (neither chat_template.jinja nor chat_template in "
                "tokenizer_config.json); give the model a plain text to continue instead.",
                path.string());
  SCONCE_TRY(std::string text, chat_template->render(messages, /*add_generation_prompt=*/true));
  return tokenizer.encode(text, /*add_special_tokens=*/false);
}

}  // namespace sconce
