#include "text/text.h"

#include "base/error.h"
#include "text/rust_interface.h"

namespace sconce {
namespace {

// Receives what one call of the Rust library hands over: items of type T, or an error.
template <typename T>
struct Answer {
  std::vector<T> items;
  std::string error;
  SconceTextReply reply{this, take_items, take_error};

  std::string text() const { return std::string(items.begin(), items.end()); }

 private:
  static void take_items(void* target, const void* items, size_t count) {
    auto* begin = static_cast<const T*>(items);
    static_cast<Answer*>(target)->items.assign(begin, begin + count);
  }
  static void take_error(void* target, const void* text, size_t size) {
    static_cast<Answer*>(target)->error.assign(static_cast<const char*>(text), size);
  }
};

SconceTextBytes bytes_of(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

void Tokenizer::Free::operator()(SconceTextTokenizer* handle) const {
  sconce_text_tokenizer_free(handle);
}

Result<Tokenizer> Tokenizer::load(std::string_view json) {
  Answer<char> answer;
  auto* handle = sconce_text_tokenizer_load(bytes_of(json), &answer.reply);
  if (!handle) return fail(ErrorCode::corrupt_file, "The tokenizer.json is not usable: {}.", answer.error);
  return Tokenizer(handle);
}

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text, bool add_special_tokens) const {
  Answer<int32_t> answer;
  SCONCE_CHECK(sconce_text_tokenizer_encode(handle_.get(), bytes_of(text), add_special_tokens, &answer.reply),
               "The text of {} bytes has no token ids: {}.", text.size(), answer.error);
  return std::move(answer.items);
}

Result<std::string> Tokenizer::decode(std::span<const int32_t> ids, bool skip_special_tokens) const {
  Answer<char> answer;
  SCONCE_CHECK(sconce_text_tokenizer_decode(handle_.get(), ids.data(), ids.size(), skip_special_tokens, &answer.reply),
               "The {} token ids have no text: {}.", ids.size(), answer.error);
  return answer.text();
}

std::optional<int32_t> Tokenizer::token_id(std::string_view token) const {
  int32_t id = sconce_text_tokenizer_token_id(handle_.get(), bytes_of(token));
  return id < 0 ? std::nullopt : std::optional(id);
}

size_t Tokenizer::vocab_size() const {
  return sconce_text_tokenizer_vocab_size(handle_.get());
}

void StreamDecoder::Free::operator()(SconceTextStream* handle) const {
  sconce_text_stream_free(handle);
}

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, bool skip_special_tokens)
    : handle_(sconce_text_stream_new(tokenizer.handle_.get(), skip_special_tokens)) {}

Result<std::string> StreamDecoder::push(int32_t id) {
  Answer<char> answer;
  SCONCE_CHECK(sconce_text_stream_push(handle_.get(), id, &answer.reply), "The token id {} has no text: {}.", id,
               answer.error);
  return answer.text();
}

Result<std::string> StreamDecoder::finish() {
  Answer<char> answer;
  SCONCE_CHECK(sconce_text_stream_finish(handle_.get(), &answer.reply), "The last token ids have no text: {}.",
               answer.error);
  return answer.text();
}

void ChatTemplate::Free::operator()(SconceTextChatTemplate* handle) const {
  sconce_text_chat_template_free(handle);
}

Result<ChatTemplate> ChatTemplate::load(std::string_view source, SpecialTokens special_tokens) {
  Answer<char> answer;
  auto* handle = sconce_text_chat_template_load(bytes_of(source), &answer.reply);
  if (!handle) return fail(ErrorCode::corrupt_file, "The chat template is not usable: {}.", answer.error);
  return ChatTemplate(handle, std::move(special_tokens));
}

Result<std::string> ChatTemplate::render(std::span<const Message> messages, bool add_generation_prompt) const {
  std::vector<SconceTextPair> turns, variables;
  for (const Message& message : messages) turns.push_back({bytes_of(message.role), bytes_of(message.content)});
  for (const auto& [name, value] : special_tokens_) variables.push_back({bytes_of(name), bytes_of(value)});
  Answer<char> answer;
  SCONCE_CHECK(sconce_text_chat_template_render(handle_.get(), turns.data(), turns.size(), variables.data(),
                                                variables.size(), add_generation_prompt, &answer.reply),
               "The chat template does not render a conversation of {} messages: {}.", messages.size(), answer.error);
  return answer.text();
}

}  // namespace sconce
