#include <gtest/gtest.h>

#include <ctime>

#include "text/text.h"

namespace sconce {
namespace {

const std::vector<Message> kConversation = {{"user", "Hi"}, {"assistant", "Hello"}, {"user", "Bye"}};

Result<std::string> render(std::string_view source, std::span<const Message> messages = kConversation,
                           bool add_generation_prompt = true) {
  auto chat_template = ChatTemplate::load(source, {{"bos_token", "<s>"}, {"eos_token", "</s>"}});
  if (!chat_template) return std::unexpected(chat_template.error());
  return chat_template->render(messages, add_generation_prompt);
}

struct Row {
  const char* what;
  const char* source;
  const char* text;
};

// What transformers 5 renders for each template and kConversation.
const Row kRows[] = {
    {"a line that is only a block leaves nothing",
     "{% for m in messages %}\n  {% if m.role == 'user' %}\nU: {{ m.content }}\n  {% endif %}\n{% endfor %}\nEnd\n",
     "U: Hi\nU: Bye\nEnd"},
    {"minus takes the whitespace around a block",
     "{%- for m in messages -%}\n  [{{ m['content'] }}]\n{%- endfor -%}\n\n", "[Hi][Hello][Bye]"},
    {"a comment leaves nothing", "a\n  {# no #}\nb", "a\nb"},
    {"text is not escaped", "{{ '<b>&' }}", "<b>&"},
    {"the tokens are variables", "{{ bos_token }}x{{ eos_token }}{{ pad_token }}", "<s>x</s>"},
    {"the generation prompt", "{% if add_generation_prompt %}A:{% endif %}", "A:"},
    {"tools and documents are none", "{{ tools is none }} {{ documents is defined }}", "True True"},
    {"loop controls",
     "{% for m in messages %}{% if loop.first %}{% continue %}{% endif %}{{ m.content }}{% break %}{% endfor %}",
     "Hello"},
    {"methods of Python strings", "{{ ' Ab '.strip().upper() }}{{ 'a,b'.split(',')[-1] }}{{ 'ab'.startswith('a') }}",
     "ABbTrue"},
    {"slices and negative indexes", "{{ messages[-1].content }}{{ messages[1:]|length }}", "Bye2"},
    {"a namespace", "{% set n = namespace(x=0) %}{% for m in messages %}{% set n.x = n.x + 1 %}{% endfor %}{{ n.x }}",
     "3"},
    {"JSON as Python writes it", "{{ messages[0] | tojson }}{{ [1, '<é>'] | tojson }}",
     "{\"role\": \"user\", \"content\": \"Hi\"}[1, \"<é>\"]"},
    {"indented JSON", "{{ {'a': [1]} | tojson(indent=2) }}", "{\n  \"a\": [\n    1\n  ]\n}"},
    {"marks for training", "a {%- generation %} b\n{% endgeneration -%}  c", "a b\nc"},
    {"macros", "{% macro f(x) %}({{ x }}){% endmacro %}{{ f(messages[0].content) }}", "(Hi)"},
};

TEST(ChatTemplate, RendersAsTransformersDoes) {
  for (const Row& row : kRows) {
    auto text = render(row.source);
    ASSERT_TRUE(text) << row.what << ": " << text.error().message;
    EXPECT_EQ(*text, row.text) << row.what;
  }
}

TEST(ChatTemplate, TakesMessagesAsTheyAre) {
  const std::vector<Message> messages = {{"user", ""}, {"tool", "\"\n{{ bos_token }} 😀 <|im_end|>"}};
  EXPECT_EQ(render("{% for m in messages %}{{ m.role }}={{ m.content }};{% endfor %}", messages).value(),
            "user=;tool=\"\n{{ bos_token }} 😀 <|im_end|>;");
  EXPECT_EQ(render("{{ messages | length }}", {}).value(), "0");
}

TEST(ChatTemplate, LeavesTheGenerationPromptOut) {
  EXPECT_EQ(render("x{% if add_generation_prompt %}A:{% endif %}", kConversation, false).value(), "x");
}

TEST(ChatTemplate, KnowsTheYear) {
  std::time_t now = std::time(nullptr);
  std::string year = std::to_string(1900 + std::localtime(&now)->tm_year);
  EXPECT_EQ(render("{{ strftime_now('%Y') }}").value(), year);
  EXPECT_FALSE(render("{{ strftime_now('" + std::string(300, 'x') + "') }}"));
}

TEST(ChatTemplate, PassesOnWhatTheTemplateRefuses) {
  auto text = render("\n{{ raise_exception('Roles must alternate.') }}");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(text.error().message.find("the template says \"Roles must alternate.\""), std::string::npos)
      << text.error().message;
  EXPECT_NE(text.error().message.find("chat_template:2"), std::string::npos) << text.error().message;
}

TEST(ChatTemplate, RefusesBrokenTemplates) {
  for (const char* source :
       {"{% if %}", "{% for m in messages %}", "{{ 'a }}", "{% unknown_tag %}", "\xFF", "{% generation %}"}) {
    auto chat_template = ChatTemplate::load(source, {});
    ASSERT_FALSE(chat_template) << source;
    EXPECT_EQ(chat_template.error().code, ErrorCode::corrupt_file);
  }
  EXPECT_FALSE(render("{{ messages[0].content.no_such_method() }}"));
  EXPECT_FALSE(render("{{ missing.attribute }}"));
}

TEST(ChatTemplate, StopsATemplateThatDoesNotEnd) {
  auto text = render(
      "{% for a in range(10000) %}{% for b in range(10000) %}{% for c in range(10000) %}{% endfor %}{% endfor %}{% "
      "endfor %}");
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().message.find("fuel"), std::string::npos) << text.error().message;
}

}  // namespace
}  // namespace sconce
