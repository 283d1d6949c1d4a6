// The Replayer on a real adapter: hand-written Steps against the CPU.
#include <algorithm>
#include <fstream>
#include <random>

#include "gpu_steps.h"

namespace sconce::webgpu {
namespace {

using record::BufferUse;
using record::CommandKind;

TEST(Replayer, RunsAKernelAndReadsTheResult) {
  auto gpu = open_gpu();
  for (auto [rows, width] : {std::pair{1u, 1u}, {3u, 100u}, {64u, 63u}, {2u, 1030u}}) {
    RmsNorm norm(rows, width);
    Replayer fresh(gpu);
    ASSERT_OK(fresh.prepare(norm.tables));
    expect_close(run(fresh, norm.step), norm.expected());
  }
}

// One set of buffers, sized for the bound, serves every live shape in any order.
TEST(Replayer, ReplaysAtChangingShapes) {
  Replayer replayer(open_gpu(), {.poison = true});
  RmsNorm bound(16, 128);
  ASSERT_OK(replayer.prepare(bound.tables));
  std::mt19937 random(7);
  for (int i = 0; i < 20; ++i) {
    RmsNorm live(1 + random() % 16, 1 + random() % 128);
    ASSERT_OK(replayer.prepare(bound.tables));
    expect_close(run(replayer, live.step), live.expected());
    EXPECT_TRUE(live.step.dirty_params.empty());
  }
  ASSERT_OK(replayer.check_guards());
}

TEST(Replayer, WritesOnlyTheDirtyParameters) {
  Replayer replayer(open_gpu());
  RmsNorm norm(4, 32);
  ASSERT_OK(replayer.prepare(norm.tables));
  run(replayer, norm.step);
  // Not marked as dirty: the GPU keeps the old eps.
  const std::vector<float> old = norm.expected();
  norm.eps = 100.0f;
  kernels::rms_norm{.rows = 4, .width = 32, .eps = norm.eps}.fill_params(norm.step.params.data());
  expect_close(run(replayer, norm.step), old);
  norm.step.dirty_params.include(8, 12);
  expect_close(run(replayer, norm.step), norm.expected());
}

// Dispatches, copies, clears and writes take effect in the order of the commands.
TEST(Replayer, KeepsTheOrderOfCommands) {
  Replayer replayer(open_gpu());
  RmsNorm norm(2, 16);
  record::Step& step = norm.step;
  std::vector<float> second(norm.x.rbegin(), norm.x.rend());
  uint32_t first_result = add_buffer(norm.tables, 128, BufferUse::activation);
  uint32_t cleared = add_buffer(norm.tables, 128, BufferUse::activation);
  step.commands.push_back({.kind = CommandKind::copy, .from = norm.y_buffer, .to = first_result, .size = 128});
  step.commands.push_back({.kind = CommandKind::copy, .from = norm.y_buffer, .to = cleared, .size = 128});
  step.commands.push_back({.kind = CommandKind::clear, .to = cleared, .to_offset = 64, .size = 60});
  add_write(step, norm.x_buffer, second);
  step.commands.push_back({.kind = CommandKind::write, .to = norm.x_buffer, .size = 0});
  step.commands.push_back({.kind = CommandKind::dispatch, .grid = {2, 1, 1}});
  step.phases = {{.first = 0,
                  .count = static_cast<uint32_t>(step.commands.size()),
                  .read_backs = {{first_result, 128}, {cleared, 128}, {norm.y_buffer, 6}, {norm.y_buffer, 128}}}};
  ASSERT_OK(replayer.prepare(norm.tables));
  auto pending = replayer.submit(step, 0);
  ASSERT_OK(pending);
  ASSERT_OK(pending->wait());
  ASSERT_EQ(pending->count(), 4u);
  std::vector<float> expected = norm.expected();
  expect_close(floats_of(pending->bytes(0)), expected);
  std::fill(expected.begin() + 16, expected.end() - 1, 0.0f);
  expect_close(floats_of(pending->bytes(1)), expected);
  EXPECT_EQ(pending->bytes(2).size(), 6u);
  norm.x = second;
  expect_close(floats_of(pending->bytes(3)), norm.expected());
  EXPECT_EQ(std::memcmp(pending->bytes(2).data(), pending->bytes(3).data(), 6), 0);
}

TEST(Replayer, PhasesAreSubmittedOneByOne) {
  Replayer replayer(open_gpu());
  RmsNorm norm(3, 10);
  norm.step.phases = {{.first = 0, .count = 1, .read_backs = {{norm.x_buffer, 120}}},
                      {.first = 1, .count = 2, .read_backs = {{norm.y_buffer, 120}}}};
  ASSERT_OK(replayer.prepare(norm.tables));
  expect_close(run(replayer, norm.step, 0), norm.x);
  expect_close(run(replayer, norm.step, 1), norm.expected());
}

// Tokens are read late: several runs are under way, and their results arrive in any order or are not wanted.
TEST(Replayer, ReadsOfSeveralRunsAreIndependent) {
  Replayer replayer(open_gpu());
  RmsNorm bound(4, 50);
  ASSERT_OK(replayer.prepare(bound.tables));
  std::vector<RmsNorm> runs;
  std::vector<PendingRead> pending;
  for (uint32_t i = 0; i < 6; ++i) {
    RmsNorm& norm = runs.emplace_back(1 + i % 4, 50 - i);
    auto submitted = replayer.submit(norm.step, 0);
    ASSERT_OK(submitted);
    pending.push_back(*std::move(submitted));
  }
  pending[2] = {};
  for (size_t i : {5u, 0u, 3u, 1u, 4u}) {
    if (i % 2 == 0) {
      ASSERT_OK(pending[i].wait());
    } else {
      Result<bool> arrived = false;
      while (arrived && !*arrived) arrived = pending[i].poll();
      ASSERT_OK(arrived);
    }
    expect_close(floats_of(pending[i].bytes(0)), runs[i].expected());
  }
}

TEST(Replayer, GrownBuffersReplaceTheirElders) {
  Replayer replayer(open_gpu(), {.poison = true});
  RmsNorm small(1, 16), large(8, 300);
  ASSERT_OK(replayer.prepare(small.tables));
  expect_close(run(replayer, small.step), small.expected());
  for (size_t i = 0; i < small.tables.buffers.size(); ++i) small.tables.buffers[i].size = large.tables.buffers[i].size;
  small.tables.buffers[small.tables.params].size = 4 * record::kLiveBytes;
  // The new parameter buffer is empty, so all slots are written though none is marked.
  large.step.params.resize(4 * record::kLiveBytes);
  large.step.dirty_params = {};
  ASSERT_OK(replayer.prepare(small.tables));
  expect_close(run(replayer, large.step), large.expected());
  ASSERT_OK(replayer.check_guards());
}

TEST(Replayer, RetiredBuffersAreReleased) {
  Replayer replayer(open_gpu());
  RmsNorm norm(4, 64);
  uint32_t staging = add_buffer(norm.tables, 1 << 20, BufferUse::staging);
  norm.tables.bind_groups.push_back(
      {.pipeline = 0, .count = 3, .buffers = {staging, norm.weight_buffer, norm.y_buffer}});
  ASSERT_OK(replayer.prepare(norm.tables));
  const uint64_t with_staging = replayer.allocated_bytes();
  norm.tables.buffers[staging].use = BufferUse::retired;
  ASSERT_OK(replayer.prepare(norm.tables));
  EXPECT_EQ(replayer.allocated_bytes(), with_staging - (1 << 20));
  expect_close(run(replayer, norm.step), norm.expected());
}

TEST(Replayer, SessionsBorrowTheModelsBuffers) {
  auto gpu = open_gpu();
  Replayer model(gpu);
  RmsNorm norm(3, 24);
  record::Tables model_tables;
  uint32_t weight = add_buffer(model_tables, 24 * 4, BufferUse::constant);
  ASSERT_OK(model.prepare(model_tables));
  record::Step load;
  add_write(load, weight, norm.weight);
  load.phases = {{.first = 0, .count = 1}};
  ASSERT_OK(model.submit(load, 0));

  norm.tables.buffers[norm.weight_buffer].use = BufferUse::shared;
  norm.tables.buffers[norm.weight_buffer].shared = weight;
  norm.step.commands.erase(norm.step.commands.begin() + 1);  // the session writes no weight
  norm.step.phases[0].count = 2;
  Replayer session(gpu, {}, &model), other(gpu, {}, &model);
  for (Replayer* replayer : {&session, &other}) {
    ASSERT_OK(replayer->prepare(norm.tables));
    norm.step.dirty_params = {0, record::kLiveBytes};
    expect_close(run(*replayer, norm.step), norm.expected());
  }
  EXPECT_EQ(session.allocated_bytes(), 2 * norm.x.size() * 4 + record::kLiveBytes);
}

uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * 4096;
}

// Memory of a software driver is the process's own.
TEST(Replayer, EndedSessionsGiveTheirMemoryBack) {
  DeviceOptions options;
  options.adapter = "software";
  auto gpu = open_gpu(options);
  constexpr uint64_t kBytes = 32 << 20;
  auto live_and_end = [&] {
    Replayer session(gpu);
    record::Tables tables;
    uint32_t state = add_buffer(tables, kBytes, BufferUse::state);
    record::Step step;
    step.commands = {{.kind = CommandKind::clear, .to = state, .size = kBytes}};
    step.phases = {{.first = 0, .count = 1, .read_backs = {{state, kBytes}}}};
    ASSERT_OK(session.prepare(tables));
    EXPECT_EQ(session.allocated_bytes(), kBytes);
    auto pending = session.submit(step, 0);
    ASSERT_OK(pending);
    ASSERT_OK(pending->wait());
    EXPECT_EQ(pending->bytes(0).size(), kBytes);
  };
  live_and_end();
  const uint64_t before = resident_bytes();
  for (int i = 0; i < 8; ++i) live_and_end();
  ASSERT_OK(gpu->wait_until_idle());
  EXPECT_LT(resident_bytes(), before + 3 * kBytes);
}

// ---- uploads ----

// A source that does not repeat within a chunk.
std::vector<std::byte> make_source(size_t size) {
  std::vector<std::byte> bytes(size);
  uint32_t state = 1;
  for (size_t i = 0; i + 4 <= size; i += 4) {
    state = state * 1664525 + 1013904223;
    std::memcpy(&bytes[i], &state, 4);
  }
  return bytes;
}

TEST(Upload, AnySizeAndOffsetArrives) {
  auto gpu = open_gpu();
  const std::vector<std::byte> source = make_source(10 << 20);
  auto bytes = [&](uint32_t id, uint64_t offset, uint64_t size) -> Result<std::span<const std::byte>> {
    EXPECT_EQ(id, 3u);
    EXPECT_LE(size, Uploader::kChunkBytes);
    return std::span(source).subspan(offset, size);
  };
  for (uint64_t size : {1u, 2u, 3u, 4u, 5u, 31u, 1000u, (8u << 20) - 1, (8u << 20) + 6}) {
    SCOPED_TRACE(size);
    Replayer replayer(gpu);
    record::Tables tables;
    uint32_t to = add_buffer(tables, size + 16, BufferUse::constant);
    record::Step step;
    step.commands = {
        {.kind = CommandKind::upload, .from = 3, .to = to, .from_offset = 17, .to_offset = 8, .size = size}};
    step.phases = {{.first = 0, .count = 1, .read_backs = {{to, tables.buffers[to].size}}}};
    ASSERT_OK(replayer.prepare(tables));
    auto pending = replayer.submit(step, 0, bytes);
    ASSERT_OK(pending);
    ASSERT_OK(pending->wait());
    std::vector<std::byte> expected(tables.buffers[to].size);
    std::memcpy(expected.data() + 8, source.data() + 17, size);
    EXPECT_EQ(std::memcmp(pending->bytes(0).data(), expected.data(), expected.size()), 0);
  }
}

// More than may be in flight at once: 16 uploads of 8 MiB, of which each reaches its own place.
TEST(Upload, WaitsWhereTooMuchIsInFlight) {
  Replayer replayer(open_gpu());
  constexpr uint64_t kPart = 8 << 20, kParts = 2 * Uploader::kInFlightBytes / kPart;
  const std::vector<std::byte> source = make_source(kPart + 256 * kParts);
  auto bytes = [&](uint32_t, uint64_t offset, uint64_t size) -> Result<std::span<const std::byte>> {
    return std::span(source).subspan(offset, size);
  };
  record::Tables tables;
  uint32_t to = add_buffer(tables, kParts * kPart, BufferUse::constant);
  record::Step step;
  for (uint64_t i = 0; i < kParts; ++i)
    step.commands.push_back(
        {.kind = CommandKind::upload, .to = to, .from_offset = 256 * i, .to_offset = i * kPart, .size = kPart});
  step.phases = {{.first = 0, .count = kParts, .read_backs = {{to, kParts * kPart}}}};
  ASSERT_OK(replayer.prepare(tables));
  auto pending = replayer.submit(step, 0, bytes);
  ASSERT_OK(pending);
  ASSERT_OK(pending->wait());
  for (uint64_t i = 0; i < kParts; ++i)
    EXPECT_EQ(std::memcmp(pending->bytes(0).data() + i * kPart, source.data() + 256 * i, kPart), 0) << i;
}

TEST(Upload, SixtyFourBitIntegersAreNarrowed) {
  Replayer replayer(open_gpu());
  std::vector<int64_t> values = {0, 1, -1, INT32_MAX, INT32_MIN, 12345};
  auto bytes = [&](uint32_t, uint64_t offset, uint64_t size) -> Result<std::span<const std::byte>> {
    return std::as_bytes(std::span(values)).subspan(offset, size);
  };
  record::Tables tables;
  uint32_t to = add_buffer(tables, values.size() * 4, BufferUse::constant);
  record::Step step;
  step.commands = {{.kind = CommandKind::upload, .to = to, .size = 48, .convert = record::Convert::i64_to_i32}};
  step.phases = {{.first = 0, .count = 1, .read_backs = {{to, 24}}}};
  ASSERT_OK(replayer.prepare(tables));
  auto pending = replayer.submit(step, 0, bytes);
  ASSERT_OK(pending);
  ASSERT_OK(pending->wait());
  std::vector<int32_t> narrowed(6);
  std::memcpy(narrowed.data(), pending->bytes(0).data(), 24);
  EXPECT_EQ(narrowed, (std::vector<int32_t>{0, 1, -1, INT32_MAX, INT32_MIN, 12345}));

  values[2] = 1ll << 40;
  auto refused = replayer.submit(step, 0, bytes);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("1099511627776"));
}

// ---- poison and profile ----

TEST(Poison, UndefinedActivationsAreNaNInEachRun) {
  Replayer replayer(open_gpu(), {.poison = true});
  RmsNorm norm(2, 20);
  ASSERT_OK(replayer.prepare(norm.tables));
  expect_close(run(replayer, norm.step), norm.expected());
  // Without the dispatch y is what the poison left, although the last run wrote it; the weight is state and stays.
  norm.step.phases[0] = {.first = 0, .count = 1, .read_backs = {{norm.y_buffer, 160}, {norm.weight_buffer, 80}}};
  auto pending = replayer.submit(norm.step, 0);
  ASSERT_OK(pending);
  ASSERT_OK(pending->wait());
  for (float y : floats_of(pending->bytes(0))) EXPECT_TRUE(std::isnan(y));
  expect_close(floats_of(pending->bytes(1)), norm.weight);
}

TEST(Poison, WritesPastTheEndAreFound) {
  Replayer replayer(open_gpu(), {.poison = true});
  record::Tables tables;
  uint32_t whole = add_buffer(tables, 64, BufferUse::activation), hit = add_buffer(tables, 64, BufferUse::activation);
  ASSERT_OK(replayer.prepare(tables));
  record::Step step;
  step.commands = {{.kind = CommandKind::clear, .to = whole, .size = 64},
                   {.kind = CommandKind::clear, .to = hit, .size = 68}};
  step.phases = {{.first = 0, .count = 1}, {.first = 1, .count = 1}};
  ASSERT_OK(replayer.submit(step, 0));
  ASSERT_OK(replayer.check_guards());
  ASSERT_OK(replayer.submit(step, 1));
  auto guards = replayer.check_guards();
  ASSERT_FALSE(guards);
  EXPECT_THAT(guards.error().message, ::testing::HasSubstr("the buffers 1 (64 bytes)."));
}

TEST(Profile, EachDispatchIsTimed) {
  Replayer replayer(open_gpu(), {.profile = true});
  RmsNorm norm(4, 1024);
  norm.step.commands.insert(norm.step.commands.end(), 2500, norm.step.commands.back());  // more than one query set
  norm.step.phases[0].count += 2500;
  ASSERT_OK(replayer.prepare(norm.tables));
  expect_close(run(replayer, norm.step), norm.expected());
  std::vector<DispatchTime> times = replayer.take_profile();
  ASSERT_EQ(times.size(), 2501u);
  uint64_t sum = 0;
  for (const DispatchTime& time : times) {
    EXPECT_EQ(time.node, 7u);
    EXPECT_TRUE(time.kernel.starts_with("rms_norm")) << time.kernel;
    sum += time.nanoseconds;
  }
  EXPECT_GT(sum, 0u);
  EXPECT_TRUE(replayer.take_profile().empty());
}

}  // namespace
}  // namespace sconce::webgpu
