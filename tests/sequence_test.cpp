// Random sequences of runs at changing live shapes, with failing runs and resets mixed in: every output must be that of
// a session that has seen nothing else.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <random>

#include "sconce/model.h"
#include "support/compare.h"
#include "support/devices.h"

namespace sconce {
namespace {

using Random = std::mt19937;

constexpr int kRuns = 50;  // of a sequence

int64_t pick(Random& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

std::vector<TensorView> views(const std::vector<Tensor>& tensors) {
  return {tensors.begin(), tensors.end()};
}

Tensor random_tensor(Random& random, Dtype dtype, const Shape& shape, int64_t below) {
  Tensor tensor = Tensor::zeros(dtype, shape);
  if (dtype == Dtype::i64)
    for (int64_t& value : tensor.as<int64_t>()) value = pick(random, 0, below - 1);
  else
    for (float& value : tensor.as<float>()) value = std::uniform_real_distribution<float>(-1, 1)(random);
  return tensor;
}

Model load(const std::string& path, bool fuse = true) {
  auto model = Model::load(*test::device(), path, {.fuse = fuse, .warm_up = false});
  if (!model) ADD_FAILURE() << model.error().to_string();
  return *std::move(model);
}

Session create(const Model& model, bool poison) {
  auto session = Session::create(model, "forward", {.poison = poison});
  if (!session) ADD_FAILURE() << session.error().to_string();
  return *std::move(session);
}

std::vector<Tensor> run(Session& session, const std::vector<Tensor>& inputs) {
  auto outputs = session.run(views(inputs));
  if (!outputs) ADD_FAILURE() << outputs.error().to_string();
  return outputs ? *std::move(outputs) : std::vector<Tensor>{};
}

void expect_same(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected, test::Tolerance tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_EQ(test::difference(actual[i], expected[i], tolerance), "") << "output " << i;
}

// Spoils valid inputs in one of several ways, each of which must be an error that changes nothing.
void expect_refused(Session& session, Random& random, std::vector<Tensor> inputs, const Shape& bound) {
  std::vector<TensorView> spoilt = views(inputs);
  Tensor replaced;
  switch (pick(random, 0, 4)) {
    case 0: {
      Shape above = inputs[0].shape;
      const size_t dim = static_cast<size_t>(pick(random, 0, static_cast<int64_t>(above.rank()) - 1));
      above[dim] = bound[dim] + pick(random, 1, 3);
      replaced = random_tensor(random, inputs[0].dtype, above, 2);
      spoilt[0] = replaced;
      break;
    }
    case 1:
      spoilt[0].shape.push_back(1);  // wrong rank
      break;
    case 2:
      spoilt.pop_back();  // an input is missing
      break;
    case 3:
      replaced = Tensor::zeros(Dtype::boolean, inputs[0].shape);
      spoilt[0] = replaced;
      break;
    case 4:
      replaced = Tensor::zeros(inputs[0].dtype, Shape{7, 7, 7});
      spoilt[0] = {inputs[0].dtype, inputs[0].shape, std::span(replaced.bytes).first(4)};  // too few bytes
      if (inputs[0].bytes.size() == 4) spoilt[0].bytes = {};
      break;
  }
  auto outputs = session.run(spoilt);
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().code, ErrorCode::invalid_argument) << outputs.error().to_string();
  EXPECT_TRUE(outputs.error().message.ends_with('.')) << outputs.error().message;
}

// ---- models without state ----

struct Stateless {
  const char* name;
  std::vector<size_t> live_dims;  // of the input
};

void PrintTo(const Stateless& model, std::ostream* out) {
  *out << model.name;
}

class StatelessSequences : public testing::TestWithParam<Stateless> {};

TEST_P(StatelessSequences, EveryOutputIsThatOfAFreshSession) {
  const Model model = load(fmt::format("{}/ops/models/{}.pte", SCONCE_FIXTURES, GetParam().name));
  const ValueInfo& input = model.method("forward")->inputs[0];
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(fmt::format("sequence {}", seed));
    Random random(seed);
    Session session = create(model, /*poison=*/true);
    for (int i = 0; i < kRuns && !testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE(fmt::format("run {}", i));
      Shape shape = input.bound;
      for (size_t dim : GetParam().live_dims) shape[dim] = pick(random, 0, input.bound[dim]);
      const std::vector<Tensor> inputs = {random_tensor(random, input.dtype, shape, 50)};
      const int64_t kind = pick(random, 0, 9);
      if (kind == 0) {
        ASSERT_TRUE(session.reset());
      }
      if (kind < 4) expect_refused(session, random, inputs, input.bound);
      Session fresh = create(model, /*poison=*/false);
      expect_same(run(session, inputs), run(fresh, inputs), {});
    }
    auto guards = session.check_guards();
    EXPECT_TRUE(guards) << guards.error().to_string();
  }
}

INSTANTIATE_TEST_SUITE_P(Models, StatelessSequences,
                         testing::Values(Stateless{"residual_mlp", {1}}, Stateless{"pooled", {0, 1}}),
                         [](const auto& info) { return std::string(info.param.name); });

// ---- language models ----

struct Language {
  const char* name;
  std::string path;
  int64_t vocabulary, capacity;
  int64_t most_tokens;  // of a sequence: keeps the replays short
  uint32_t sequences;
  test::Tolerance tolerance;  // between a prompt in one piece and token by token
  bool fuse = true;
};

void PrintTo(const Language& model, std::ostream* out) {
  *out << model.name;
}

struct TokenRun {
  std::vector<int64_t> tokens;
  int64_t position;

  std::vector<Tensor> inputs() const {
    return {Tensor::of<int64_t>({1, static_cast<int64_t>(tokens.size())}, tokens),
            Tensor::of<int64_t>({1}, {position})};
  }
};

// A session with what it has been told, and fresh sessions to compare it with.
class LanguageSequence {
 public:
  LanguageSequence(const Language& language, const Model& model, uint32_t seed)
      : language_(language),
        model_(model),
        random_(seed),
        bound_(model.method("forward")->inputs[0].bound),
        session_(create(model, /*poison=*/true)) {}

  void step() {
    const int64_t kind = pick(random_, 0, 9);
    if (kind == 0) reset();
    if (kind < 4) expect_refused(session_, random_, draw().inputs(), bound_);
    if (kind < 6) expect_refused_position();
    const TokenRun next = draw();
    const std::vector<Tensor> outputs = run(session_, next.inputs());
    cache_.resize(static_cast<size_t>(next.position));
    cache_.insert(cache_.end(), next.tokens.begin(), next.tokens.end());
    done_.push_back(next);
    expect_same(outputs, replay_cache(), language_.tolerance);
    last_ = outputs;
  }

  // The same successful runs since the last reset, in a session that has seen nothing else: equal in every bit.
  void expect_last_replayed() {
    Session fresh = create(model_, /*poison=*/false);
    std::vector<Tensor> outputs;
    for (const TokenRun& each : done_) outputs = run(fresh, each.inputs());
    expect_same(last_, outputs, {});
    auto guards = session_.check_guards();
    EXPECT_TRUE(guards) << guards.error().to_string();
  }

 private:
  // Continues after what is in the cache, or goes back to an earlier position.
  TokenRun draw() {
    const int64_t held = static_cast<int64_t>(cache_.size());
    const bool full = held >= language_.most_tokens;
    const int64_t position = full || pick(random_, 0, 4) == 0 ? pick(random_, 0, std::max<int64_t>(0, held - 1)) : held;
    const int64_t most = std::min(language_.most_tokens - position, bound_[1]);
    const int64_t count = pick(random_, 0, 1) == 0 ? 1 : pick(random_, 1, most);
    TokenRun drawn{{}, position};
    for (int64_t i = 0; i < count; ++i) drawn.tokens.push_back(pick(random_, 0, language_.vocabulary - 1));
    return drawn;
  }
  void reset() {
    ASSERT_TRUE(session_.reset());
    cache_.clear();
    done_.clear();
  }
  void expect_refused_position() {
    TokenRun beyond = draw();
    const int64_t room = language_.capacity - static_cast<int64_t>(beyond.tokens.size());
    beyond.position = pick(random_, 0, 3) == 0 ? -1 : pick(random_, room + 1, room + 5);
    auto outputs = session_.run(views(beyond.inputs()));
    ASSERT_FALSE(outputs) << "position " << beyond.position << " with " << beyond.tokens.size() << " tokens";
    EXPECT_EQ(outputs.error().code, ErrorCode::invalid_argument) << outputs.error().to_string();
    EXPECT_TRUE(outputs.error().message.ends_with('.')) << outputs.error().message;
  }
  // All tokens in the cache as one prompt, in as few runs as the bound allows.
  std::vector<Tensor> replay_cache() {
    Session fresh = create(model_, /*poison=*/false);
    std::vector<Tensor> outputs;
    for (size_t at = 0; at < cache_.size();) {
      const size_t end = std::min(cache_.size(), at + static_cast<size_t>(bound_[1]));
      outputs = run(
          fresh, TokenRun{{cache_.begin() + static_cast<ptrdiff_t>(at), cache_.begin() + static_cast<ptrdiff_t>(end)},
                          static_cast<int64_t>(at)}
                     .inputs());
      at = end;
    }
    return outputs;
  }

  const Language& language_;
  const Model& model_;
  Random random_;
  Shape bound_;
  Session session_;
  std::vector<int64_t> cache_;  // the token of each row
  std::vector<TokenRun> done_;  // since the last reset
  std::vector<Tensor> last_;
};

class LanguageSequences : public testing::TestWithParam<Language> {};

TEST_P(LanguageSequences, EveryOutputIsThatOfAFreshSession) {
  ASSERT_TRUE(std::ifstream(GetParam().path).good()) << GetParam().path << " is missing; ./test makes it";
  const Model model = load(GetParam().path, GetParam().fuse);
  for (uint32_t seed = 0; seed < GetParam().sequences; ++seed) {
    SCOPED_TRACE(fmt::format("sequence {}", seed));
    LanguageSequence sequence(GetParam(), model, seed);
    for (int i = 0; i < kRuns; ++i) {
      SCOPED_TRACE(fmt::format("step {}", i));
      sequence.step();
      if (HasFailure()) return;
    }
    sequence.expect_last_replayed();
  }
}

std::vector<Language> languages() {
  const test::Tolerance tolerance{1e-3, 1e-3};
  const std::string fixtures = SCONCE_FIXTURES "/ops/models/";
  // On a software adapter a run of SmolLM2 takes about a tenth of a second, so its sequences are fewer and shorter
  // unless more are asked for.
  const char* sequences = std::getenv("SCONCE_SEQUENCES");
  const char* folder = std::getenv("SCONCE_MODEL_DIR");
  const std::string smollm2 = std::string(folder ? folder : SCONCE_DEFAULT_MODEL_DIR) + "/model.pte";
  return {
      {"llama", fixtures + "llama.pte", 128, 64, 64, 20, tolerance},
      {"llama_one_by_one", fixtures + "llama.pte", 128, 64, 64, 5, tolerance, /*fuse=*/false},
      {"llama_hf_rope", fixtures + "llama_hf_rope.pte", 128, 64, 64, 20, tolerance},
      {"smollm2", smollm2, 49152, 2048, 12, sequences ? static_cast<uint32_t>(std::atoi(sequences)) : 2, tolerance}};
}

INSTANTIATE_TEST_SUITE_P(Models, LanguageSequences, testing::ValuesIn(languages()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace sconce
