// The GPU's choice of a token against the host's, over vocabularies of many sizes, and the host's against the
// distribution that it should follow.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "gpu_steps.h"
#include "planner/live_planner.h"
#include "runtime/generation.h"
#include "runtime/session.h"
#include "support/graph_builder.h"
#include "support/planned_graph.h"

namespace sconce {
namespace {

using runtime::Sampler;
using runtime::SamplingWords;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Chosen {
  int32_t in_ring, in_tokens;
};

// A graph of the operator alone: logits [rows, vocabulary] come from the host.
class GpuSampler {
 public:
  GpuSampler(std::shared_ptr<webgpu::Gpu> gpu, int64_t vocabulary, int64_t rows = 1)
      : vocabulary_(vocabulary), planned_(make_graph(vocabulary, rows), gpu->capabilities()), replayer_(gpu) {}

  Chosen sample(const std::vector<float>& logits, const SamplingWords& words, uint32_t slot) {
    std::vector<planner::Input> inputs = {test::live({static_cast<int64_t>(logits.size()) / vocabulary_, vocabulary_}),
                                          test::live({1}), test::live({8})};
    inputs[1].on_device = inputs[2].on_device = true;
    for (int64_t word : words.symints()) inputs.push_back({{}, word, {}});
    inputs.push_back({{}, slot, {}});
    record::Step& step = planned_.step;
    auto ran = [&]() -> Result<Chosen> {
      SCONCE_DO(planned_.run(inputs));
      std::memcpy(step.host_bytes.data(), logits.data(), logits.size() * sizeof(float));
      SCONCE_DO(replayer_.prepare(planned_.tables));
      SCONCE_TRY(webgpu::PendingRead reads, replayer_.submit(step, 0));
      SCONCE_DO(reads.wait());
      Chosen chosen;
      std::memcpy(&chosen.in_tokens, reads.bytes(0).data(), 4);
      std::memcpy(&chosen.in_ring, reads.bytes(1).data() + 4 * slot, 4);
      return chosen;
    }();
    EXPECT_TRUE(ran) << (ran ? "" : ran.error().to_string());
    return ran.value_or(Chosen{-2, -2});
  }
  size_t dispatches() const {
    return static_cast<size_t>(
        std::ranges::count(planned_.step.commands, record::CommandKind::dispatch, &record::Command::kind));
  }

 private:
  static graph::Graph make_graph(int64_t vocabulary, int64_t rows) {
    test::GraphBuilder builder;
    const graph::ValueId logits = builder.input({rows, vocabulary});
    const graph::ValueId tokens = builder.input({1}, Dtype::i32), ring = builder.input({8}, Dtype::i32);
    std::vector<test::Arg> args = {logits, tokens, ring};
    for (int i = 0; i < 6; ++i) args.push_back(builder.symint_input());
    builder.call("sconce.sample", args, std::vector<graph::ValueId>{});
    graph::Graph graph = builder.finish({tokens, ring});
    for (graph::ValueId state : {tokens, ring}) std::get<graph::TensorValue>(graph.values[state]).is_state = true;
    return graph;
  }

  int64_t vocabulary_;
  test::PlannedGraph planned_;
  webgpu::Replayer replayer_;
};

std::vector<float> random_logits(size_t count, float spread, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, spread);
  std::vector<float> logits(count);
  for (float& logit : logits) logit = normal(random);
  return logits;
}

const std::vector<SamplingOptions>& all_options() {
  static const std::vector<SamplingOptions> options = {
      {},
      {.temperature = 1.0f},
      {.temperature = 0.7f, .min_p = 0.02f},
      {.temperature = 1.3f, .top_k = 1},
      {.temperature = 1.0f, .top_k = 40},
      {.temperature = 0.8f, .top_p = 0.9f},
      {.temperature = 1.0f, .top_p = 0.0f},
      {.temperature = 5.0f, .top_k = 50, .top_p = 0.95f, .min_p = 0.001f},
      {.temperature = 100.0f, .top_p = 0.999f},
      {.temperature = 1.0f, .top_k = 1000000},
  };
  return options;
}

void expect_equal_choices(GpuSampler& gpu, const std::vector<float>& logits, uint64_t draws) {
  Sampler host;
  for (size_t o = 0; o < all_options().size(); ++o) {
    SamplingOptions options = all_options()[o];
    for (uint64_t i = 0; i < draws; ++i) {
      options.seed = 11 * i + o;
      const SamplingWords words = runtime::sampling_words(options, i);
      const int32_t expected = host.sample(logits, words);
      const Chosen chosen = gpu.sample(logits, words, static_cast<uint32_t>(i % 8));
      ASSERT_EQ(chosen.in_ring, expected) << "options " << o << ", draw " << i << " of " << logits.size();
      ASSERT_EQ(chosen.in_tokens, std::max(expected, 0));
    }
  }
}

class SamplingOnGpu : public testing::TestWithParam<int64_t> {};

TEST_P(SamplingOnGpu, ChoosesAsTheHostDoes) {
  auto gpu = webgpu::open_gpu();
  ASSERT_TRUE(gpu);
  const int64_t vocabulary = GetParam();
  GpuSampler sampler(gpu, vocabulary);
  const auto count = static_cast<size_t>(vocabulary);
  expect_equal_choices(sampler, random_logits(count, 3.0f, 1), 4);
  // Equal logits everywhere, so that every cut falls among equals.
  expect_equal_choices(sampler, std::vector<float>(count, 1.5f), 2);
  std::vector<float> few_values = random_logits(count, 1.0f, 2);
  for (float& logit : few_values) logit = std::round(logit);
  expect_equal_choices(sampler, few_values, 2);
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, SamplingOnGpu, testing::Values(1, 2, 511, 513, 4099, 49152, 128256, 140001));

TEST(SamplingOnGpu, ChoosesWithoutSubgroupsAndOnRowsBeyondTheFirst) {
  auto gpu = webgpu::open_gpu({.lowered = {.f16 = false, .subgroups = false}});
  ASSERT_TRUE(gpu);
  GpuSampler sampler(gpu, 700, 3);
  std::vector<float> rows = random_logits(2100, 2.0f, 5);
  const std::vector<float> last(rows.end() - 700, rows.end());
  Sampler host;
  for (const SamplingOptions& options : all_options()) {
    const SamplingWords words = runtime::sampling_words(options, 3);
    EXPECT_EQ(sampler.sample(rows, words, 1).in_ring, host.sample(last, words));
  }
}

TEST(SamplingOnGpu, DefinesWhatHappensToNansAndInfinities) {
  auto gpu = webgpu::open_gpu();
  ASSERT_TRUE(gpu);
  GpuSampler sampler(gpu, 600);
  std::vector<float> logits = random_logits(600, 2.0f, 6);
  for (size_t i = 0; i < logits.size(); i += 3) logits[i] = kNan;
  expect_equal_choices(sampler, logits, 4);
  logits[100] = -kInfinity;
  logits[0] = -kNan;
  expect_equal_choices(sampler, logits, 2);
  logits[301] = logits[77] = kInfinity;
  expect_equal_choices(sampler, logits, 2);
  EXPECT_EQ(sampler.sample(logits, {}, 0).in_ring, 77);
  expect_equal_choices(sampler, std::vector<float>(600, -kInfinity), 2);
  expect_equal_choices(sampler, std::vector<float>(600, kNan), 1);
  EXPECT_EQ(sampler.sample(std::vector<float>(600, kNan), {}, 0).in_ring, -1);
}

TEST(SamplingOnGpu, TakesFewDispatches) {
  auto gpu = webgpu::open_gpu();
  ASSERT_TRUE(gpu);
  GpuSampler sampler(gpu, 128256);
  const std::vector<float> logits = random_logits(128256, 2.0f, 7);
  sampler.sample(logits, {}, 0);
  EXPECT_EQ(sampler.dispatches(), 2u);
  sampler.sample(logits, runtime::sampling_words({.temperature = 1.0f}, 0), 0);
  EXPECT_EQ(sampler.dispatches(), 3u);
  sampler.sample(logits, runtime::sampling_words({.temperature = 1.0f, .top_k = 5, .top_p = 0.5f}, 0), 0);
  EXPECT_EQ(sampler.dispatches(), 4u);
}

// The probabilities in float64, straight from their definition.
std::vector<double> probabilities(const std::vector<float>& logits, const SamplingOptions& options) {
  std::vector<std::pair<double, size_t>> order;
  const double top = *std::ranges::max_element(logits);
  double total = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double p = std::exp((logits[i] - top) / options.temperature);
    if (p >= options.min_p) order.emplace_back(p, i);
  }
  std::ranges::sort(order, std::greater());
  if (options.top_k > 0 && order.size() > static_cast<size_t>(options.top_k))
    order.resize(static_cast<size_t>(options.top_k));
  for (const auto& [p, i] : order) total += p;
  double sum = 0;
  size_t count = 0;
  while (count < order.size() && (count == 0 || sum < options.top_p * total)) sum += order[count++].first;
  std::vector<double> result(logits.size(), 0.0);
  for (size_t i = 0; i < count; ++i) result[order[i].second] = order[i].first / sum;
  return result;
}

TEST(Sampler, FollowsTheDistributionByChiSquare) {
  constexpr uint64_t kDraws = 20000;
  const std::vector<float> logits = random_logits(40, 1.5f, 9);
  Sampler sampler;
  for (SamplingOptions options : all_options()) {
    if (options.temperature == 0.0f) continue;
    options.seed = 2026;
    std::vector<double> counts(logits.size());
    for (uint64_t i = 0; i < kDraws; ++i)
      ++counts[static_cast<size_t>(sampler.sample(logits, runtime::sampling_words(options, i)))];
    const std::vector<double> expected = probabilities(logits, options);
    double chi_square = 0, freedom = -1;
    for (size_t i = 0; i < counts.size(); ++i) {
      if (expected[i] == 0) {
        EXPECT_EQ(counts[i], 0) << "token " << i << " is cut off";
        continue;
      }
      const double want = expected[i] * kDraws;
      chi_square += (counts[i] - want) * (counts[i] - want) / want;
      ++freedom;
    }
    // Five standard deviations above the mean of the chi-square distribution.
    EXPECT_LE(chi_square, freedom + 5 * std::sqrt(2 * std::max(freedom, 1.0)));
  }
}

}  // namespace
}  // namespace sconce
