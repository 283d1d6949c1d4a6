// The C side of src/interface.rs: the same types and functions, with the same names. Only text.cpp uses it.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// Borrowed bytes; data may be null when size is 0.
struct SconceTextBytes {
  const char* data;
  size_t size;
};

// Role and content of a message, or name and value of a variable.
struct SconceTextPair {
  SconceTextBytes first;
  SconceTextBytes second;
};

// Where a call puts its result or its error. Items are bytes of UTF-8, or int32_t where the call says ids.
struct SconceTextReply {
  void* target;
  void (*value)(void* target, const void* items, size_t count);
  void (*error)(void* target, const void* items, size_t count);
};

struct SconceTextTokenizer;
struct SconceTextStream;
struct SconceTextChatTemplate;

// Calls that return a handle return null after an error; calls that return a bool return false.
SconceTextTokenizer* sconce_text_tokenizer_load(SconceTextBytes json, const SconceTextReply* reply);
void sconce_text_tokenizer_free(SconceTextTokenizer* tokenizer);
bool sconce_text_tokenizer_encode(const SconceTextTokenizer* tokenizer, SconceTextBytes text, bool add_special_tokens,
                                  const SconceTextReply* ids);
bool sconce_text_tokenizer_decode(const SconceTextTokenizer* tokenizer, const int32_t* ids, size_t count,
                                  bool skip_special_tokens, const SconceTextReply* reply);
int32_t sconce_text_tokenizer_token_id(const SconceTextTokenizer* tokenizer, SconceTextBytes token);  // or -1
size_t sconce_text_tokenizer_vocab_size(const SconceTextTokenizer* tokenizer);

// A stream keeps its tokenizer alive.
SconceTextStream* sconce_text_stream_new(const SconceTextTokenizer* tokenizer, bool skip_special_tokens);
void sconce_text_stream_free(SconceTextStream* stream);
bool sconce_text_stream_push(SconceTextStream* stream, int32_t id, const SconceTextReply* reply);
bool sconce_text_stream_finish(SconceTextStream* stream, const SconceTextReply* reply);

SconceTextChatTemplate* sconce_text_chat_template_load(SconceTextBytes source, const SconceTextReply* reply);
void sconce_text_chat_template_free(SconceTextChatTemplate* chat_template);
bool sconce_text_chat_template_render(const SconceTextChatTemplate* chat_template, const SconceTextPair* messages,
                                      size_t message_count, const SconceTextPair* variables, size_t variable_count,
                                      bool add_generation_prompt, const SconceTextReply* reply);

}  // extern "C"
