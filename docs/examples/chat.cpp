// Two turns of generation over token ids: the second one prefills only what is new, because the session keeps the KV
// cache. Where text and ids meet (tokenizer, chat template) is up to the caller.
//
//   chat MODEL.pte ID ID ...      the prompt's token ids
#include <cstdio>
#include <cstdlib>

#include "sconce/generator.h"

namespace {

// Prints the answer's ids as they come and appends them to the conversation.
sconce::Result<void> answer(sconce::Generator& generator, std::vector<int32_t>& conversation) {
  sconce::GenerationOptions options;
  options.max_new_tokens = 16;
  options.sampling.temperature = 0;  // greedy
  if (auto begun = generator.begin(conversation, options); !begun) return begun;
  while (true) {
    auto token = generator.next();  // one run of the model
    if (!token) return std::unexpected(token.error());
    if (!*token) break;
    conversation.push_back(**token);
    std::printf("%d ", **token);
    std::fflush(stdout);
  }
  const sconce::GenerationTimes times = generator.times();
  std::printf("\n(%s; %zu of %zu prompt tokens were new)\n", sconce::name_of(generator.stop_reason()),
              times.prefilled_tokens, times.prompt_tokens);
  return {};
}

sconce::Result<void> chat(const char* path, std::vector<int32_t> conversation) {
  auto device = sconce::Device::open();
  if (!device) return std::unexpected(device.error());

  sconce::LoadOptions options;
  options.progress = [](const sconce::LoadProgress& progress) {
    std::fprintf(stderr, "\r%s: %llu of %llu ", progress.stage, static_cast<unsigned long long>(progress.done),
                 static_cast<unsigned long long>(progress.total));
    return true;  // false would cancel
  };
  auto model = sconce::Model::load(*device, path, options);
  std::fputs("\n", stderr);
  if (!model) return std::unexpected(model.error());
  auto generator = sconce::Generator::create(*model);
  if (!generator) return std::unexpected(generator.error());

  const std::vector<int32_t> next_turn = conversation;
  if (auto done = answer(*generator, conversation); !done) return done;
  conversation.insert(conversation.end(), next_turn.begin(), next_turn.end());
  return answer(*generator, conversation);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: chat MODEL.pte ID ID ...\n", stderr);
    return 2;
  }
  std::vector<int32_t> prompt;
  for (int i = 2; i < argc; ++i) prompt.push_back(std::atoi(argv[i]));
  if (auto done = chat(argv[1], prompt); !done) {
    std::fprintf(stderr, "error: %s\n", done.error().to_string().c_str());
    return 1;
  }
  return 0;
}
