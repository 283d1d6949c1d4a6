// Token by token generation with a language model as ExecuTorch's LLM exporter writes it: inputs tokens [1, S] (i64, S
// up to the prefill bound) and position [1] (i64); output logits [1, V] or [1, S, V].
//
//   auto generator = sconce::Generator::create(*model);
//   generator->begin(prompt_tokens, {.max_new_tokens = 100, .end_tokens = {2}});
//   while (auto token = generator->next()) {
//     if (!*token) break;          // complete: stop_reason() says why
//     print(**token);
//   }
//
// Tokens are chosen on the GPU, and on a GPU the next steps are submitted before a token is read, so that nothing waits
// for the host. On a software adapter one step runs at a time, and a prompt runs in pieces of about half a second.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sconce/generation.h"
#include "sconce/model.h"

namespace sconce {

// Wall-clock times of the current answer, host to host.
struct GenerationTimes {
  size_t prompt_tokens = 0;     // cached ones included
  size_t prefilled_tokens = 0;  // of them, those that had to be run
  size_t new_tokens = 0;
  double first_token_s = 0;  // from begin() to the first token
  double prefill_s = 0;      // from begin() until the prompt has run
  double decode_s = 0;       // from then to the last token
  size_t decode_steps = 0;   // tokens after the first one
};

struct GeneratorOptions {
  SessionOptions session;
  // Runs that are submitted before the oldest one's token is read; 0: what suits the adapter.
  size_t steps_ahead = 0;
};

class Generator {
 public:
  // Errors: not_found for the method; unsupported when its inputs and outputs are not those of a language model.
  static Result<Generator> create(const Model& model, std::string_view method = "forward",
                                  const GeneratorOptions& options = {});

  Generator(Generator&&) noexcept;
  Generator& operator=(Generator&&) noexcept;
  ~Generator();

  size_t context_length() const;  // tokens that the KV cache holds
  size_t prefill_bound() const;   // most tokens in one run; a longer prompt runs in chunks
  size_t vocabulary() const;      // logits of a token

  // Starts the answer to `tokens`, the whole conversation so far. The part that the cache already holds is not run
  // again, so a chat prefills only what is new. A prompt longer than the context is an error and changes nothing.
  Result<void> begin(std::span<const int32_t> tokens, const GenerationOptions& options);
  // The next token, or nothing when the answer is complete. Blocks until the token is there; the first call for as many
  // runs as the prompt needs. `go_on`, if given, is asked after each run; false cancels.
  Result<std::optional<int32_t>> next(const std::function<bool()>& go_on = {});
  // The logits that the last token was chosen from, with GenerationOptions::read_logits.
  std::span<const float> logits() const;
  // Ends the answer after the current token; next() then gives nothing. May be called between calls of next().
  void cancel();
  // Empties the cache and mends a session that a device error broke.
  Result<void> reset();

  StopReason stop_reason() const;
  GenerationTimes times() const;
  // For statistics and profiles: its method takes more inputs than the model's, since it chooses tokens too.
  Session& session();

 private:
  struct Impl;
  explicit Generator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sconce
