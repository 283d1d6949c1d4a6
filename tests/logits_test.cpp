// SmolLM2's logits against torch, which runs the same 4-bit weights: prefills of many lengths and forced decode steps,
// in one session. The goldens come from `python -m tools.export.reference` (./test makes them once).
//
// Forced tokens, never free text: one different choice would make all that follows incomparable.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "io/tensor_files.h"
#include "sconce/model.h"

namespace sconce {
namespace {

// Both sides multiply in f32 and differ in the order of additions alone, over up to 49,152 x 576 products a layer and
// 30 layers; logits reach about 30. Measured worst: see docs/performance.md.
constexpr float kLogitTolerance = 5e-4f;
constexpr int64_t kLengths[] = {64, 255, 7, 128, 2, 37, 1};  // no two neighbours alike, and 1 comes last

std::string from_environment(const char* name, const char* fallback) {
  const char* value = std::getenv(name);
  return value && *value ? value : fallback;
}

struct Golden {
  Tensor tokens, logits;
  std::span<const float> row(size_t i) const {
    const size_t vocabulary = static_cast<size_t>(logits.shape.back());
    return logits.as<float>().subspan(i * vocabulary, vocabulary);
  }
};

Golden read_golden(int64_t length) {
  const std::string folder = from_environment("SCONCE_GOLDENS_DIR", "build/goldens/smollm2-135m-instruct");
  auto tensors = io::read_tensors(fmt::format("{}/prefill_{}.safetensors", folder, length));
  EXPECT_TRUE(tensors) << tensors.error().to_string();
  if (!tensors) return {};
  return {tensors->at("tokens"), tensors->at("logits")};
}

// What all comparisons add up to; printed at the end.
struct Agreement {
  float worst = 0;
  size_t rows = 0, decided = 0, agreed = 0;

  void add(std::span<const float> ours, std::span<const float> torch, const std::string& what) {
    ASSERT_EQ(ours.size(), torch.size()) << what;
    float row_worst = 0;
    for (size_t i = 0; i < ours.size(); ++i) {
      ASSERT_FALSE(std::isnan(ours[i])) << what << ", logit " << i;
      row_worst = std::max(row_worst, std::abs(ours[i] - torch[i]));
    }
    EXPECT_LE(row_worst, kLogitTolerance) << what;
    worst = std::max(worst, row_worst);
    ++rows;
    std::vector<float> sorted(torch.begin(), torch.end());
    std::ranges::nth_element(sorted, sorted.begin() + 1, std::greater<>());
    if (sorted[0] - sorted[1] <= 2 * kLogitTolerance) return;  // too close for either side to decide
    ++decided;
    agreed += std::ranges::max_element(ours) - ours.begin() == std::ranges::max_element(torch) - torch.begin();
  }
};

// With fused operators, and without.
class Logits : public testing::TestWithParam<bool> {
 protected:
  static void open_session(bool fuse) {
    auto device = Device::open();
    ASSERT_TRUE(device) << device.error().to_string();
    const std::string folder = from_environment("SCONCE_MODEL_DIR", "build/models/smollm2-135m-instruct");
    auto model = Model::load(*device, folder + "/model.pte", {.fuse = fuse});
    ASSERT_TRUE(model) << model.error().to_string();
    auto session = Session::create(*model);
    ASSERT_TRUE(session) << session.error().to_string();
    sessions_[fuse] = *std::move(session);
    fmt::print("Running on {}.\n", device->adapter().to_string());
  }
  static void TearDownTestSuite() {
    for (std::optional<Session>& session : sessions_) session.reset();
    fmt::print("{} rows of logits: worst difference {:.2e}; top-1 agrees in {} of {} rows whose margin decides.\n",
               agreement_.rows, agreement_.worst, agreement_.agreed, agreement_.decided);
    EXPECT_EQ(agreement_.agreed, agreement_.decided);
  }
  void SetUp() override {
    if (!sessions_[GetParam()]) open_session(GetParam());
    ASSERT_TRUE(sessions_[GetParam()]);
  }

  // Runs tokens [first, first + count) of a golden at position `first` and compares the logits with its row.
  void compare(const Golden& golden, int64_t first, int64_t count, size_t row) {
    const Tensor tokens =
        Tensor::of<int64_t>({1, count}, golden.tokens.as<int64_t>().subspan(static_cast<size_t>(first), count));
    const Tensor position = Tensor::of<int64_t>({1}, {first});
    auto outputs = sessions_[GetParam()]->run({tokens, position});
    ASSERT_TRUE(outputs) << outputs.error().to_string();
    agreement_.add((*outputs)[0].as<float>(), golden.row(row), fmt::format("{} tokens at position {}", count, first));
  }

  static inline std::optional<Session> sessions_[2];
  static inline Agreement agreement_;
};

TEST_P(Logits, OfPrefillsInAnyOrderAgreeWithTorch) {
  for (int64_t length : kLengths) {
    const Golden golden = read_golden(length);
    ASSERT_FALSE(golden.logits.bytes.empty());
    compare(golden, 0, length, 0);
  }
}

TEST_P(Logits, OfForcedDecodeStepsAgreeWithTorch) {
  for (int64_t length : kLengths) {
    const Golden golden = read_golden(length);
    ASSERT_FALSE(golden.logits.bytes.empty());
    compare(golden, 0, length, 0);
    const int64_t steps = golden.logits.shape[0] - 1;
    ASSERT_GE(steps, 64);
    for (int64_t step = 0; step < steps; ++step) compare(golden, length + step, 1, static_cast<size_t>(step) + 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Fusion, Logits, testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "Fused" : "OneByOne"); });

}  // namespace
}  // namespace sconce
