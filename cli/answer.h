// One answer of a language model: from a prompt's tokens to text that appears piece by piece.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sconce/generator.h"
#include "text/model_directory.h"

namespace sconce::cli {

struct Answer {
  std::string text;
  std::string stop_reason;  // name_of(StopReason), or "stop_string"
  GenerationTimes times;
};

// Generates until the model, a limit, a stop string or Ctrl-C ends the answer; `show` gets each piece of text once, in
// order, without special tokens.
Result<Answer> answer(Generator& generator, const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                      const GenerationOptions& options, const std::vector<std::string>& stop_strings,
                      const std::function<void(std::string_view)>& show);

}  // namespace sconce::cli
