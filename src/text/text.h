// Text to token ids and back, and chat templates: what stands between a person and a language model.
//
// All text is UTF-8. Nothing here is shared between objects that a caller must know of; each object is used by one
// thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sconce/result.h"

struct SconceTextTokenizer;
struct SconceTextStream;
struct SconceTextChatTemplate;

namespace sconce {

// A tokenizer in the format of Hugging Face's tokenizer.json. Truncation and padding named there are not applied.
class Tokenizer {
 public:
  // `json` holds the bytes of a tokenizer.json; it may be freed afterwards. Costs under a second for 49152 tokens.
  // Errors: corrupt_file.
  static Result<Tokenizer> load(std::string_view json);

  // The ids of `text`. Special tokens written out in the text ("<|im_end|>") become their ids. With
  // `add_special_tokens` the tokens that the model expects around a plain text are added (a bos token, say); a text
  // rendered by a chat template already has them. Errors: invalid_argument for text that is not UTF-8.
  Result<std::vector<int32_t>> encode(std::string_view text, bool add_special_tokens) const;

  // The text of `ids`, with U+FFFD for bytes that are no character. Errors: invalid_argument for an unknown id.
  Result<std::string> decode(std::span<const int32_t> ids, bool skip_special_tokens) const;

  std::optional<int32_t> token_id(std::string_view token) const;

  // Special tokens included. A model may have more logits than this: its vocabulary is often padded.
  size_t vocab_size() const;

 private:
  friend class StreamDecoder;
  struct Free {
    void operator()(SconceTextTokenizer* handle) const;
  };
  explicit Tokenizer(SconceTextTokenizer* handle) : handle_(handle) {}
  std::unique_ptr<SconceTextTokenizer, Free> handle_;
};

// Decodes one id at a time. The pieces, joined, are what Tokenizer::decode says of all the ids (except around long runs
// of invalid bytes); each is whole characters, so a character that is split over tokens comes with its last token.
// It may outlive its tokenizer.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special_tokens = true);

  // The text that `id` completes, often empty. After an error (invalid_argument for an unknown id) the stream goes on
  // as if `id` had not come.
  Result<std::string> push(int32_t id);

  // What is held back, with U+FFFD for incomplete characters; the decoder is then as new.
  Result<std::string> finish();

 private:
  struct Free {
    void operator()(SconceTextStream* handle) const;
  };
  std::unique_ptr<SconceTextStream, Free> handle_;
};

// One turn of a conversation.
struct Message {
  std::string role;  // "system", "user" or "assistant"; a template may know others
  std::string content;
};

// A chat template: Jinja as Hugging Face's transformers sets it up.
class ChatTemplate {
 public:
  // Name and text of the special tokens that a template may use: {"bos_token", "<s>"}.
  using SpecialTokens = std::vector<std::pair<std::string, std::string>>;

  // `source` is the template's text. Errors: corrupt_file with the line of a syntax error.
  static Result<ChatTemplate> load(std::string_view source, SpecialTokens special_tokens);

  // The conversation as the model was trained to see it. With `add_generation_prompt` it ends where the assistant's
  // answer begins. Errors: invalid_argument, when the template refuses the conversation or does not end in time.
  Result<std::string> render(std::span<const Message> messages, bool add_generation_prompt) const;

 private:
  struct Free {
    void operator()(SconceTextChatTemplate* handle) const;
  };
  ChatTemplate(SconceTextChatTemplate* handle, SpecialTokens special_tokens)
      : handle_(handle), special_tokens_(std::move(special_tokens)) {}
  std::unique_ptr<SconceTextChatTemplate, Free> handle_;
  SpecialTokens special_tokens_;
};

}  // namespace sconce
