// Hand-written tables and Steps for tests of the driver.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "kernels.h"
#include "record/record.h"
#include "webgpu/replayer.h"

namespace sconce::webgpu {

// Opens a device or ends the test with the reason. Every machine that runs the tests has lavapipe or better.
inline std::shared_ptr<Gpu> open_gpu(DeviceOptions options = {},
                                     std::span<const record::KernelInfo> all = kernels::all()) {
  auto gpu = Gpu::open(options, all);
  if (!gpu) ADD_FAILURE() << gpu.error().to_string();
  return gpu ? *gpu : nullptr;
}

#define ASSERT_OK(expression)                                                                       \
  do {                                                                                              \
    auto&& result_of_ok = (expression);                                                             \
    ASSERT_TRUE(result_of_ok) << (result_of_ok ? std::string() : result_of_ok.error().to_string()); \
  } while (false)

// A kernel that exists in the test only. Its id is its place in the list that the device is opened with.
inline record::KernelInfo test_kernel(std::string_view name, std::string_view source,
                                      std::span<const record::KernelBinding> bindings, uint32_t id = 0) {
  return {.name = name, .source = source, .bindings = bindings, .params_bytes = 0, .invocations = 1, .id = id};
}

inline std::vector<float> floats_of(std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

inline uint32_t add_buffer(record::Tables& tables, uint64_t size, record::BufferUse use) {
  tables.buffers.push_back({.size = (size + 15) / 16 * 16, .use = use});
  return static_cast<uint32_t>(tables.buffers.size() - 1);
}

inline void add_write(record::Step& step, uint32_t buffer, const std::vector<float>& values) {
  auto bytes = std::as_bytes(std::span(values));
  step.commands.push_back(
      {.kind = record::CommandKind::write, .to = buffer, .from_offset = step.host_bytes.size(), .size = bytes.size()});
  step.host_bytes.insert(step.host_bytes.end(), bytes.begin(), bytes.end());
}

// y = rms_norm(x, weight) over `rows` rows of `width`: the tables and one Step of one phase that writes x and weight,
// dispatches and reads y back.
struct RmsNorm {
  uint32_t rows, width;
  float eps = 1e-5f;
  std::vector<float> x, weight;
  record::Tables tables;
  record::Step step;
  uint32_t x_buffer, weight_buffer, y_buffer;

  RmsNorm(uint32_t rows, uint32_t width) : rows(rows), width(width), x(rows * width), weight(width) {
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(0.37f * static_cast<float>(i)) + 0.1f;
    for (size_t i = 0; i < weight.size(); ++i) weight[i] = 1.0f + 0.01f * static_cast<float>(i);
    x_buffer = add_buffer(tables, x.size() * 4, record::BufferUse::activation);
    weight_buffer = add_buffer(tables, weight.size() * 4, record::BufferUse::state);
    y_buffer = add_buffer(tables, x.size() * 4, record::BufferUse::activation);
    tables.params = add_buffer(tables, record::kLiveBytes, record::BufferUse::params);
    tables.pipelines = {{.kernel = kernels::rms_norm::info().id, .variant = 0}};
    tables.bind_groups = {{.pipeline = 0, .count = 3, .buffers = {x_buffer, weight_buffer, y_buffer}}};
    build_step();
  }

  void build_step() {
    step = {};
    step.params.resize(record::kLiveBytes);
    kernels::rms_norm{.rows = rows, .width = width, .eps = eps}.fill_params(step.params.data());
    step.dirty_params = {0, record::kLiveBytes};
    add_write(step, x_buffer, x);
    add_write(step, weight_buffer, weight);
    step.commands.push_back({.kind = record::CommandKind::dispatch, .grid = {rows, 1, 1}, .node = 7});
    step.phases = {{.first = 0, .count = 3, .read_backs = {{.buffer = y_buffer, .size = x.size() * 4}}}};
  }

  std::vector<float> expected() const {
    std::vector<float> y(x.size());
    for (uint32_t r = 0; r < rows; ++r) {
      const float* row = &x[r * width];
      double sum = std::accumulate(row, row + width, 0.0, [](double s, float v) { return s + double{v} * v; });
      for (uint32_t i = 0; i < width; ++i)
        y[r * width + i] = static_cast<float>(row[i] / std::sqrt(sum / width + eps) * weight[i]);
    }
    return y;
  }
};

// Submits a phase of a Step and gives the first of what it reads back.
inline std::vector<float> run(Replayer& replayer, record::Step& step, size_t phase = 0,
                              const ByteProvider& bytes = {}) {
  auto pending = replayer.submit(step, phase, bytes);
  if (pending) {
    auto waited = pending->wait();
    if (waited) return floats_of(pending->bytes(0));
    pending = std::unexpected(waited.error());
  }
  ADD_FAILURE() << pending.error().to_string();
  return {};
}

inline void expect_close(std::span<const float> actual, std::span<const float> expected, float tolerance = 2e-5f) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], tolerance * (1 + std::fabs(expected[i]))) << "at " << i;
}

}  // namespace sconce::webgpu
