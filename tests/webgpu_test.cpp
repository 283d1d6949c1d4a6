// The Replayer on a real adapter: hand-written Steps against the CPU.
#include "gpu_steps.h"

namespace sconce::webgpu {
namespace {

std::vector<float> run(Replayer& replayer, record::Step& step) {
  auto pending = replayer.submit(step, 0);
  if (!pending) {
    ADD_FAILURE() << pending.error().to_string();
    return {};
  }
  auto waited = pending->wait();
  if (!waited) ADD_FAILURE() << waited.error().to_string();
  return waited ? floats_of(pending->bytes(0)) : std::vector<float>();
}

#define ASSERT_OK(expression)                                      \
  do {                                                             \
    auto result_of_ok = (expression);                              \
    ASSERT_TRUE(result_of_ok) << result_of_ok.error().to_string(); \
  } while (false)

TEST(Replayer, RunsAKernelAndReadsTheResult) {
  auto gpu = open_gpu();
  RmsNorm norm(3, 100);
  Replayer replayer(gpu);
  ASSERT_OK(replayer.prepare(norm.tables));
  expect_close(run(replayer, norm.step), norm.expected());
}

}  // namespace
}  // namespace sconce::webgpu
