// Tokenizers small enough to follow by hand, in the two common kinds.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

namespace sconce {

inline std::string utf8(uint32_t code_point) {
  if (code_point < 0x80) return {static_cast<char>(code_point)};
  return {static_cast<char>(0xC0 | code_point >> 6), static_cast<char>(0x80 | (code_point & 0x3F))};  // below 0x800
}

// The character that stands for `byte` in GPT-2's byte-level alphabet: itself if printable, else one from U+0100 on.
inline std::string byte_level_character(int byte) {
  auto printable = [](int b) { return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174; };
  if (printable(byte)) return utf8(byte);
  int others = 0;
  for (int b = 0; b < byte; ++b) others += !printable(b);
  return utf8(256 + others);
}

inline nlohmann::json special_token(int id, const char* content) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

// Byte-level BPE. Ids: 0 <|endoftext|>, 1 <|im_start|>, 2 <|im_end|>, 3 + b for the byte b, then what `merges` make.
inline nlohmann::json byte_level_tokenizer() {
  using nlohmann::json;
  json vocab = {{"<|endoftext|>", 0}, {"<|im_start|>", 1}, {"<|im_end|>", 2}};
  for (int byte = 0; byte < 256; ++byte) vocab[byte_level_character(byte)] = 3 + byte;
  json merges = json::array();
  for (auto [left, right] : {std::pair{"h", "e"}, {"l", "l"}, {"he", "ll"}, {"hell", "o"}, {"Ġ", "hello"}}) {
    vocab[std::string(left) + right] = vocab.size();  // 259 he, 260 ll, 261 hell, 262 hello, 263 Ġhello
    merges.push_back({left, right});
  }
  json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  return {{"version", "1.0"},
          {"truncation", {{"direction", "Right"}, {"max_length", 4}, {"strategy", "LongestFirst"}, {"stride", 0}}},
          {"padding", nullptr},
          {"added_tokens",
           {special_token(0, "<|endoftext|>"), special_token(1, "<|im_start|>"), special_token(2, "<|im_end|>")}},
          {"normalizer", nullptr},
          {"pre_tokenizer", byte_level},
          {"post_processor", nullptr},
          {"decoder", byte_level},
          {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", merges}}}};
}

// BPE over characters with byte fallback, as Llama 2 has it. Ids: 0 <unk>, 1 <s>, 2 </s>, 3 + b for the byte b, 259 for
// the space, 260 + i for the i-th letter, 286 for "▁a". A plain text gets a <s> in front.
inline nlohmann::json byte_fallback_tokenizer() {
  using nlohmann::json;
  json vocab = {{"<unk>", 0}, {"<s>", 1}, {"</s>", 2}, {"▁", 259}, {"▁a", 286}};
  for (int byte = 0; byte < 256; ++byte) vocab[fmt::format("<0x{:02X}>", byte)] = 3 + byte;
  for (int letter = 0; letter < 26; ++letter) vocab[std::string(1, static_cast<char>('a' + letter))] = 260 + letter;
  json to_space = {{"type", "Replace"}, {"pattern", {{"String", "▁"}}}, {"content", " "}};
  json from_space = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}};
  json prepend = {{"type", "Prepend"}, {"prepend", "▁"}};
  json strip = {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}};
  json begin = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};
  json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  json begin_token = {{"<s>", {{"id", "<s>"}, {"ids", {1}}, {"tokens", {"<s>"}}}}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", {special_token(0, "<unk>"), special_token(1, "<s>"), special_token(2, "</s>")}},
          {"normalizer", {{"type", "Sequence"}, {"normalizers", {prepend, from_space}}}},
          {"pre_tokenizer", nullptr},
          {"post_processor",
           {{"type", "TemplateProcessing"},
            {"single", {begin, text}},
            {"pair", {begin, text, text}},
            {"special_tokens", begin_token}}},
          {"decoder",
           {{"type", "Sequence"}, {"decoders", {to_space, {{"type", "ByteFallback"}}, {{"type", "Fuse"}}, strip}}}},
          {"model",
           {{"type", "BPE"},
            {"unk_token", "<unk>"},
            {"fuse_unk", true},
            {"byte_fallback", true},
            {"vocab", vocab},
            {"merges", json::array({json::array({"▁", "a"})})}}}};
}

}  // namespace sconce
