// A model directory under the names that users know from Hugging Face: tokenizer.json, tokenizer_config.json,
// chat_template.jinja, generation_config.json, and model.pte beside them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "sconce/result.h"
#include "text/text.h"

namespace sconce {

// How the model's makers would generate; what they left open is empty.
struct GenerationDefaults {
  std::vector<int32_t> stop_tokens;       // ids that end an answer, ascending; may be empty
  std::optional<bool> do_sample;          // false: greedy
  std::optional<double> temperature;      // 0 or more; 0: greedy
  std::optional<double> top_p;            // 0 to 1
  std::optional<double> min_p;            // 0 to 1
  std::optional<int64_t> top_k;           // 0 (off) or more
  std::optional<int64_t> max_new_tokens;  // 0 or more
};

struct ModelDirectory {
  std::filesystem::path path;
  Tokenizer tokenizer;
  std::optional<ChatTemplate> chat_template;
  GenerationDefaults generation;

  // Reads tokenizer.json, and the other files as far as they exist. A chat_template.jinja goes before the template in
  // tokenizer_config.json. Stop tokens are eos_token_id of generation_config.json (a number or a list) and eos_token
  // of tokenizer_config.json. Errors: not_found, io, corrupt_file; each names the file.
  static Result<ModelDirectory> open(const std::filesystem::path& path);

  // Where the program is; whoever loads it reports its absence.
  std::filesystem::path program() const { return path / "model.pte"; }

  // The token ids of a conversation up to where the answer begins. Errors: not_found without a chat template, and
  // those of ChatTemplate::render and Tokenizer::encode.
  Result<std::vector<int32_t>> encode_chat(std::span<const Message> messages) const;
};

}  // namespace sconce
