// What goes wrong inside WebGPU reaches the caller as a sentence, from the call that caused it.
#include <sys/resource.h>

#include <cstdio>

#include "gpu_steps.h"

namespace sconce::webgpu {
namespace {

using record::BufferUse;
using record::CommandKind;
using ::testing::HasSubstr;

constexpr record::KernelBinding kOneWrite[] = {{"y", record::Access::write}};
constexpr record::KernelBinding kReadAndWrite[] = {{"x", record::Access::read}, {"y", record::Access::write}};

// Tables and a Step that dispatch one kernel with buffers of 64 bytes.
struct OneDispatch {
  record::Tables tables;
  record::Step step;

  explicit OneDispatch(uint32_t bindings, std::array<uint32_t, 3> grid = {1, 1, 1}) {
    record::BindGroup group{.pipeline = 0, .count = bindings};
    for (uint32_t i = 0; i < bindings; ++i) group.buffers[i] = add_buffer(tables, 64, BufferUse::activation);
    tables.params = add_buffer(tables, record::kLiveBytes, BufferUse::params);
    tables.pipelines = {{.kernel = 0, .variant = 0}};
    tables.bind_groups = {group};
    step.params.resize(record::kLiveBytes);
    step.commands = {{.kind = CommandKind::dispatch, .grid = {grid[0], grid[1], grid[2]}}};
    step.phases = {{.first = 0, .count = 1, .read_backs = {{bindings - 1, 64}}}};
  }
};

TEST(Errors, AWrongKernelTextNamesTheKernelAndTheLine) {
  const record::KernelInfo kernels[] = {test_kernel("no_such_name", R"(
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(1) fn main() { y[0] = missing; }
)",
                                                    kOneWrite)};
  auto gpu = open_gpu({}, kernels);
  Replayer replayer(gpu);
  OneDispatch wrong(1);
  for (int attempt = 0; attempt < 2; ++attempt) {  // it stays an error
    auto prepared = replayer.prepare(wrong.tables);
    ASSERT_FALSE(prepared);
    EXPECT_EQ(prepared.error().code, ErrorCode::internal);
    EXPECT_THAT(prepared.error().message, HasSubstr("no_such_name"));
    EXPECT_THAT(prepared.error().message, HasSubstr("unresolved value 'missing'"));
  }
  EXPECT_TRUE(gpu->check());
}

TEST(Errors, AKernelThatDisagreesWithItsBindingsDoesNotCompile) {
  const record::KernelInfo kernels[] = {test_kernel("writes_its_input", R"(
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(1) fn main() { y[0] = x[0]; x[1] = 2.0; }
)",
                                                    kReadAndWrite)};
  Replayer replayer(open_gpu({}, kernels));
  auto prepared = replayer.prepare(OneDispatch(2).tables);
  ASSERT_FALSE(prepared);
  EXPECT_THAT(prepared.error().message, HasSubstr("writes_its_input does not compile"));
}

TEST(Errors, LoweredCapabilitiesRefuseKernels) {
  constexpr std::string_view kSource = R"(
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(1) fn main() { y[0] = subgroupAdd(1.0); }
)";
  record::KernelInfo kernel = test_kernel("sums", kSource, kOneWrite);
  kernel.enables = "enable subgroups;\n";
  DeviceOptions options;
  options.lowered.subgroups = false;
  options.lowered.max_workgroup_storage_bytes = 1024;
  options.lowered.max_invocations_per_workgroup = 128;
  options.lowered.max_storage_buffers = 4;
  auto refusal = [&](const record::KernelInfo& refused) {
    Replayer replayer(open_gpu(options, {&refused, 1}));
    auto prepared = replayer.prepare(OneDispatch(1).tables);
    EXPECT_FALSE(prepared);
    return prepared ? "" : prepared.error().message;
  };
  EXPECT_THAT(refusal(kernel), HasSubstr("subgroups")) << "WebGPU itself refuses what was not requested";
  kernel.subgroups = true;
  EXPECT_THAT(refusal(kernel), HasSubstr("needs the feature subgroups"));
  kernel.subgroups = false;
  kernel.workgroup_bytes = 2048;
  EXPECT_THAT(refusal(kernel), HasSubstr("needs 2048 bytes of workgroup memory, but"));
  kernel.workgroup_bytes = 0, kernel.invocations = 256;
  EXPECT_THAT(refusal(kernel), HasSubstr("needs 256 invocations in a workgroup, but"));
  constexpr record::KernelBinding kFive[5] = {};
  kernel.invocations = 1, kernel.bindings = kFive;
  EXPECT_THAT(refusal(kernel), HasSubstr("needs 5 storage buffers, but"));
}

TEST(Errors, AnInvalidSubmitIsReportedByItself) {
  Replayer replayer(open_gpu());
  RmsNorm norm(2, 8);
  ASSERT_OK(replayer.prepare(norm.tables));
  const uint32_t limit = replayer.gpu().capabilities().max_workgroups_per_dimension;
  norm.step.commands[2].grid[0] = limit + 1;
  auto submitted = replayer.submit(norm.step, 0);
  ASSERT_FALSE(submitted);
  EXPECT_EQ(submitted.error().code, ErrorCode::internal);
  EXPECT_THAT(submitted.error().message, HasSubstr(std::to_string(limit)));
  norm.step.commands[2].grid[0] = 2;
  expect_close(run(replayer, norm.step), norm.expected());
}

TEST(Errors, ABufferAboveTheLimitGivesTheNumbers) {
  Replayer replayer(open_gpu());
  RmsNorm norm(2, 8);
  ASSERT_OK(replayer.prepare(norm.tables));
  const uint64_t too_much = replayer.gpu().capabilities().max_buffer_bytes / 16 * 16 + 16;
  add_buffer(norm.tables, too_much, BufferUse::state);
  auto prepared = replayer.prepare(norm.tables);
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().code, ErrorCode::unsupported);
  EXPECT_THAT(prepared.error().message, HasSubstr(fmt::format("needs {} bytes", too_much)));
  EXPECT_THAT(prepared.error().message, HasSubstr("KV cache"));
  expect_close(run(replayer, norm.step), norm.expected());
}

TEST(Errors, ABindingAboveTheLimitGivesTheNumbers) {
  DeviceOptions options;
  options.lowered.max_storage_binding_bytes = 1024;
  Replayer replayer(open_gpu(options));
  RmsNorm norm(5, 52);  // 1040 bytes
  auto prepared = replayer.prepare(norm.tables);
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().code, ErrorCode::unsupported);
  EXPECT_THAT(prepared.error().message, HasSubstr("is an activation of 1040 bytes"));
  EXPECT_THAT(prepared.error().message, HasSubstr("1024 bytes in a binding"));
}

// Software drivers take GPU memory from the process, whose address space can be limited.
class ScopedMemoryLimit {
 public:
  explicit ScopedMemoryLimit(uint64_t more_bytes) {
    unsigned long pages = 0;
    if (FILE* file = std::fopen("/proc/self/statm", "r")) {
      EXPECT_EQ(std::fscanf(file, "%lu", &pages), 1);
      std::fclose(file);
    }
    getrlimit(RLIMIT_AS, &old_);
    rlimit limit = old_;
    limit.rlim_cur = pages * 4096 + more_bytes;
    setrlimit(RLIMIT_AS, &limit);
  }
  ~ScopedMemoryLimit() { setrlimit(RLIMIT_AS, &old_); }

 private:
  rlimit old_;
};

TEST(Errors, ExhaustedMemoryChangesNothing) {
  DeviceOptions options;
  options.adapter = "swiftshader";
  Replayer replayer(open_gpu(options));
  RmsNorm norm(2, 8);
  ASSERT_OK(replayer.prepare(norm.tables));
  record::Tables larger = norm.tables;
  larger.buffers[norm.x_buffer].size = 1 << 20;
  add_buffer(larger, 512ull << 20, BufferUse::scratch);
  {
    ScopedMemoryLimit limit(256ull << 20);
    auto prepared = replayer.prepare(larger);
    ASSERT_FALSE(prepared);
    EXPECT_EQ(prepared.error().code, ErrorCode::out_of_memory);
    EXPECT_THAT(prepared.error().message, HasSubstr("536870912 bytes for scratch memory"));
  }
  expect_close(run(replayer, norm.step), norm.expected());
  ASSERT_OK(replayer.prepare(larger));
  expect_close(run(replayer, norm.step), norm.expected());
}

TEST(Errors, ALostDeviceSaysSoOnEveryCall) {
  auto gpu = open_gpu();
  Replayer replayer(gpu);
  RmsNorm norm(2, 8);
  ASSERT_OK(replayer.prepare(norm.tables));
  auto pending = replayer.submit(norm.step, 0);
  ASSERT_OK(pending);
  gpu->destroy();
  auto expect_lost = [](const auto& result) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::device_lost);
    EXPECT_THAT(result.error().message, HasSubstr("The GPU device is lost (Device was destroyed.)"));
  };
  expect_lost(pending->wait());
  expect_lost(pending->poll());
  for (int i = 0; i < 2; ++i) {
    expect_lost(gpu->check());
    expect_lost(replayer.prepare(norm.tables));
    expect_lost(replayer.submit(norm.step, 0));
    expect_lost(gpu->wait_until_idle());
  }
}

}  // namespace
}  // namespace sconce::webgpu
