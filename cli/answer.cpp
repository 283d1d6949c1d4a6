#include "cli/answer.h"

#include "base/error.h"
#include "cli/terminal.h"
#include "text/stop.h"

namespace sconce::cli {

Result<Answer> answer(Generator& generator, const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                      const GenerationOptions& options, const std::vector<std::string>& stop_strings,
                      const std::function<void(std::string_view)>& show) {
  SCONCE_TRY(StopStrings stops, StopStrings::make(stop_strings));
  StreamDecoder decoder(tokenizer);
  Answer answer;
  auto give = [&](std::string_view piece) {
    answer.text += piece;
    if (!piece.empty()) show(piece);
  };

  SCONCE_DO(generator.begin(prompt, options));
  while (true) {
    if (interrupted() || stops.stopped()) generator.cancel();
    SCONCE_TRY(std::optional<int32_t> token, generator.next([] { return !interrupted(); }));
    if (!token) break;
    // A model may have more logits than its tokenizer has tokens; those that pad the vocabulary have no text.
    if (static_cast<size_t>(*token) >= tokenizer.vocab_size()) continue;
    SCONCE_TRY(std::string piece, decoder.push(*token));
    give(stops.push(piece));
  }
  SCONCE_TRY(std::string rest, decoder.finish());
  give(stops.push(rest));
  const bool at_stop_string = stops.stopped();
  give(stops.finish());
  answer.stop_reason = at_stop_string ? "stop_string" : name_of(generator.stop_reason());
  answer.times = generator.times();
  return answer;
}

}  // namespace sconce::cli
