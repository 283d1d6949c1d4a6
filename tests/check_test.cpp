#include "record/check.h"

#include <gtest/gtest.h>

#include <functional>

namespace sconce::record {
namespace {

constexpr KernelBinding kBindings[] = {{"x", Access::read}, {"w", Access::read}, {"y", Access::write}};
constexpr std::string_view kTypes[] = {"f32", "f16"};
constexpr KernelChoice kChoices[] = {{"T", kTypes, KernelChoice::Kind::type}};
constexpr KernelInfo kKernels[] = {
    {"mul", "", "", kBindings, kChoices, 8, 64, 256, false, false, 0},
    {"sum", "", "enable subgroups;\n", kBindings, {}, 8, 64, 256, true, false, 1},
};

enum BufferId : uint32_t { kX, kW, kY, kState, kScratch, kParams, kRetired, kStaging };
enum ValueId : uint32_t { kValueX = 10, kValueY = 11, kValueState = 12, kValueOther = 13 };

// y = x * w by way of scratch memory, then y goes to the state:
//   0 write x, 1 x * w -> scratch, 2 scratch * w -> y, 3 copy y -> state; y is read back.
struct SmallRun {
  Capabilities capabilities;
  Tables tables;
  Step step, reset;

  SmallRun() {
    tables.buffers = {{64, BufferUse::activation}, {64, BufferUse::shared},   {64, BufferUse::activation},
                      {128, BufferUse::state},     {256, BufferUse::scratch}, {512, BufferUse::params},
                      {64, BufferUse::retired},    {64, BufferUse::staging}};
    tables.pipelines = {{0, 0}};
    tables.bind_groups = {{0, 3, {kX, kW, kScratch}}, {0, 3, {kScratch, kW, kY}}};
    tables.params = kParams;
    step.host_bytes.resize(48);
    step.params.resize(512);
    step.dirty_params = {0, 512};
    add({.kind = CommandKind::write, .to = kX, .size = 48}, {Use{kValueX, 48}});
    add({.bind_group = 0, .grid = {3, 1, 1}, .node = 4}, {Use{kValueX, 48}, Use{kNone, 64}, Use{kNone, 200}});
    add({.bind_group = 1, .params_slot = 1, .grid = {3, 1, 1}, .node = 4},
        {Use{kNone, 200}, Use{kNone, 64}, Use{kValueY, 46}});
    add({.kind = CommandKind::copy, .node = 5, .from = kY, .to = kState, .to_offset = 16, .size = 48},
        {Use{kValueY, 46}, Use{kValueState, 128}});
    step.phases = {{0, 4, {{kY, 48, kValueY}}}};
    reset.commands = {{.kind = CommandKind::clear, .to = kState, .size = 128}};
    reset.uses.resize(1);
    reset.phases = {{0, 1, {}}};
  }

  void add(const Command& command, const Uses& uses) {
    step.commands.push_back(command);
    step.uses.push_back(uses);
  }
  // Another phase with this command.
  void append(const Command& command, const Uses& uses) {
    add(command, uses);
    ++step.phases[0].count;
  }
  Result<void> check() const {
    CheckExecutor executor(capabilities, kKernels);
    SCONCE_DO(executor.check(tables, reset, StepKind::setup));
    return executor.check(tables, step, StepKind::run);
  }
};

TEST(CheckExecutor, PassesAStepWithoutFaults) {
  const Result<void> checked = SmallRun().check();
  EXPECT_TRUE(checked) << checked.error().to_string();
}

struct Violation {
  const char* name;
  std::function<void(SmallRun&)> commit;
  const char* message;  // a part of it
};

void PrintTo(const Violation& violation, std::ostream* out) {
  *out << violation.name;
}

class CheckExecutorFinds : public testing::TestWithParam<Violation> {};

TEST_P(CheckExecutorFinds, TheViolation) {
  SmallRun run;
  GetParam().commit(run);
  const Result<void> checked = run.check();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::internal);
  EXPECT_EQ(checked.error().message.back(), '.');
  EXPECT_NE(checked.error().to_string().find(GetParam().message), std::string::npos) << checked.error().to_string();
}

const Violation kViolations[] = {
    {"BufferSize", [](SmallRun& r) { r.tables.buffers[kY].size = 60; }, "size of buffer 2 (activation, 60 bytes)"},
    {"BufferLimit", [](SmallRun& r) { r.capabilities.max_buffer_bytes = 256; },
     "Buffer 5 (params, 512 bytes) is larger than the 256 bytes"},
    {"BindingLimit", [](SmallRun& r) { r.capabilities.max_storage_binding_bytes = 128; },
     "Buffer 4 (scratch, 256 bytes) is bound as y, but this device binds at most 128 bytes. [in command 1 (dispatch "
     "of mul<T=f32>, node 4)]"},
    {"ParamsBuffer", [](SmallRun& r) { r.tables.params = kY; },
     "The parameters lie in buffer 2 (activation, 64 bytes)"},
    {"ParamsBufferMissing", [](SmallRun& r) { r.tables.params = 99; }, "buffer 99 (missing)"},
    {"Kernel", [](SmallRun& r) { r.tables.pipelines[0].kernel = 2; },
     "There is no kernel 2; there are 2. [in pipeline 0]"},
    {"Variant", [](SmallRun& r) { r.tables.pipelines[0].variant = 2; }, "no variant 2 of kernel mul; there are 2"},
    {"Subgroups",
     [](SmallRun& r) {
       r.tables.pipelines.push_back({1, 0});
     },
     "Kernel sum needs subgroups"},
    {"F16", [](SmallRun& r) { r.tables.pipelines[0].variant = 1; }, "Kernel mul needs shader-f16"},
    {"Invocations", [](SmallRun& r) { r.capabilities.max_invocations_per_workgroup = 32; },
     "has 64 invocations, but this device allows 32"},
    {"WorkgroupBytes", [](SmallRun& r) { r.capabilities.max_workgroup_storage_bytes = 128; },
     "takes 256 bytes of memory, but this device allows 128"},
    {"StorageBuffers", [](SmallRun& r) { r.capabilities.max_storage_buffers = 2; },
     "binds 3 buffers, but this device allows 2"},
    {"PhaseGap", [](SmallRun& r) { r.step.phases[0].first = 1; }, "A phase begins at command 1"},
    {"PhaseShort", [](SmallRun& r) { r.step.phases[0].count = 3; }, "The phases hold 3 commands, but there are 4"},
    {"UsesMissing", [](SmallRun& r) { r.step.uses.pop_back(); }, "with the uses of 3"},
    {"DirtyRange",
     [](SmallRun& r) {
       r.step.dirty_params = {0, 600};
     },
     "end at byte 600 of 512"},
    {"ParamsRoom", [](SmallRun& r) { r.tables.buffers[kParams].size = 256; },
     "512 bytes of parameters do not fit into buffer 5"},
    {"Pipeline", [](SmallRun& r) { r.step.commands[1].pipeline = 1; }, "There is no pipeline 1"},
    {"BindGroup", [](SmallRun& r) { r.step.commands[1].bind_group = 7; }, "There is no bind group 7"},
    {"BindGroupOfAnotherPipeline",
     [](SmallRun& r) {
       r.tables.pipelines.push_back({0, 0});
       r.step.commands[1].pipeline = 1;
     },
     "Bind group 0 belongs to pipeline 0, but pipeline 1"},
    {"BindGroupCount", [](SmallRun& r) { r.tables.bind_groups[0].count = 2; }, "has 2 buffers, but the kernel binds 3"},
    {"BufferId", [](SmallRun& r) { r.tables.bind_groups[0].buffers[0] = 50; }, "There is no buffer 50"},
    {"ZeroGrid", [](SmallRun& r) { r.step.commands[1].grid[1] = 0; }, "The grid is 3 x 0 x 1"},
    {"GridLimit", [](SmallRun& r) { r.capabilities.max_workgroups_per_dimension = 2; },
     "The grid is 3 x 1 x 1, but each dim must be from 1 to 2"},
    {"ParamsSlot", [](SmallRun& r) { r.step.commands[2].params_slot = 2; }, "Parameter slot 2 lies past the 512 bytes"},
    {"NoParams", [](SmallRun& r) { r.tables.params = kNone; }, "Parameter slot 0 lies past the 0 bytes"},
    {"LiveBytes", [](SmallRun& r) { r.step.uses[1][0].bytes = 80; },
     "80 bytes at offset 0 lie past the end of buffer 0"},
    {"Hazard", [](SmallRun& r) { r.tables.bind_groups[1].buffers[2] = kScratch; },
     "Buffer 4 (scratch, 256 bytes) is bound as x and y, of which one is written"},
    {"WriteShared", [](SmallRun& r) { r.tables.bind_groups[1].buffers[2] = kW; },
     "A run Step must not write buffer 1 (shared, 64 bytes), bound as y"},
    {"WriteRetired", [](SmallRun& r) { r.tables.bind_groups[1].buffers[2] = kRetired; },
     "must not write buffer 6 (retired"},
    {"ReadRetired", [](SmallRun& r) { r.tables.bind_groups[0].buffers[1] = kRetired; },
     "must not read buffer 6 (retired"},
    {"ReadStaging", [](SmallRun& r) { r.tables.bind_groups[0].buffers[1] = kStaging; },
     "must not read buffer 7 (staging"},
    {"BindParams", [](SmallRun& r) { r.tables.bind_groups[0].buffers[1] = kParams; }, "must not read buffer 5 (params"},
    {"CopyAlignment", [](SmallRun& r) { r.step.commands[3].to_offset = 2; },
     "go to offset 2, which are not all multiples"},
    {"CopyNothing", [](SmallRun& r) { r.step.commands[3].size = 0; }, "Nothing is moved"},
    {"CopyPastEnd", [](SmallRun& r) { r.step.commands[3].to_offset = 96; },
     "48 bytes at offset 96 lie past the end of buffer 3 (state, 128 bytes)"},
    {"CopyFromPastEnd", [](SmallRun& r) { r.step.commands[3].from_offset = 32; },
     "48 bytes at offset 32 lie past the end of buffer 2"},
    {"CopyToItself", [](SmallRun& r) { r.step.commands[3].from = kState; },
     "Buffer 3 (state, 128 bytes) is copied to itself"},
    {"CopyToShared", [](SmallRun& r) { r.step.commands[3].to = kW, r.step.commands[3].to_offset = 0; },
     "must not copy to buffer 1 (shared"},
    {"CopyFromStaging", [](SmallRun& r) { r.step.commands[3].from = kStaging; },
     "must not copy from buffer 7 (staging"},
    {"UploadInARun", [](SmallRun& r) { r.step.commands[0].kind = CommandKind::upload; }, "must not upload to buffer 0"},
    {"WriteToState", [](SmallRun& r) { r.step.commands[0].to = kState; }, "must not write to buffer 3 (state"},
    {"HostBytes", [](SmallRun& r) { r.step.commands[0].from_offset = 4; },
     "48 bytes at offset 4 are written, but the inputs have 48"},
    {"ReadUnwritten",
     [](SmallRun& r) {
       r.step.uses[1][0] = {kValueX, 60};
     },
     "Bytes 0 to 60 of buffer 0"},
    {"ReadOfAnotherValue", [](SmallRun& r) { r.step.uses[1][0].value = kValueOther; },
     "A read wants value 13 in buffer 0 (activation, 64 bytes), which holds value 10. [in command 1"},
    {"ScratchOfAnotherNode", [](SmallRun& r) { r.step.commands[2].node = 5; },
     "A read wants the scratch memory of node 5 in buffer 4 (scratch, 256 bytes), which holds the scratch memory of "
     "node 4"},
    {"ValueOverwritten",
     [](SmallRun& r) {
       r.append({.kind = CommandKind::copy, .node = 6, .from = kState, .to = kY, .size = 16},
                {Use{kValueState, 128}, Use{kValueOther, 16}});
     },
     "A read wants value 11 in buffer 2 (activation, 64 bytes), which holds value 13. [in read-back 0 of phase 0]"},
    {"WriteOfNoValue", [](SmallRun& r) { r.step.uses[0][0].value = kNone; },
     "not known which tensor is written to buffer 0"},
    {"ReadBackUnwritten", [](SmallRun& r) { r.step.phases[0].read_backs[0].size = 52; },
     "Bytes 0 to 52 of buffer 2 (activation, 64 bytes) are read, but nothing wrote all of them. [in read-back 0"},
    {"ReadBackPastEnd", [](SmallRun& r) { r.step.phases[0].read_backs[0].size = 68; }, "68 bytes at offset 0 lie past"},
    {"StateNeverSet",
     [](SmallRun& r) {
       r.reset.commands[0].size = 16;
       r.step.phases[0].read_backs.push_back({kState, 128, kValueState});
     },
     "Bytes 0 to 128 of buffer 3 (state, 128 bytes) are read"},
};

INSTANTIATE_TEST_SUITE_P(All, CheckExecutorFinds, testing::ValuesIn(kViolations),
                         [](const auto& info) { return info.param.name; });

TEST(CheckExecutor, ForgetsActivationsBetweenRunsButNotStates) {
  SmallRun run;
  CheckExecutor executor(run.capabilities, kKernels);
  ASSERT_TRUE(executor.check(run.tables, run.reset, StepKind::setup));
  ASSERT_TRUE(executor.check(run.tables, run.step, StepKind::run));
  Step next;
  next.phases = {{0, 0, {{kState, 128, kValueState}}}};
  EXPECT_TRUE(executor.check(run.tables, next, StepKind::run));
  next.phases = {{0, 0, {{kY, 48, kValueY}}}};
  auto checked = executor.check(run.tables, next, StepKind::run);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message.find("which holds nothing"), std::string::npos) << checked.error().message;
}

TEST(CheckExecutor, KeepsActivationsFromPhaseToPhase) {
  SmallRun run;
  CheckExecutor executor(run.capabilities, kKernels);
  ASSERT_TRUE(executor.check(run.tables, run.reset, StepKind::setup));
  ASSERT_TRUE(executor.check(run.tables, run.step, StepKind::run));
  run.add(run.step.commands[3], run.step.uses[3]);
  run.step.phases.push_back({4, 1, {{kState, 64, kValueState}}});
  auto checked = executor.check(run.tables, run.step, StepKind::run, 1);
  EXPECT_TRUE(checked) << checked.error().to_string();
  EXPECT_FALSE(executor.check(run.tables, run.step, StepKind::run, 2));
}

TEST(CheckExecutor, FindsParametersThatAreStaleOnTheGpu) {
  SmallRun run;
  CheckExecutor executor(run.capabilities, kKernels);
  ASSERT_TRUE(executor.check(run.tables, run.reset, StepKind::setup));
  ASSERT_TRUE(executor.check(run.tables, run.step, StepKind::run));
  run.step.params[256] = std::byte{1};
  run.step.dirty_params = {256, 512};
  ASSERT_TRUE(executor.check(run.tables, run.step, StepKind::run));
  run.step.params[3] = std::byte{1};
  auto checked = executor.check(run.tables, run.step, StepKind::run);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message.find("Byte 3 of the parameters changed outside of the dirty range 256 to 512"),
            std::string::npos)
      << checked.error().message;
  // A new parameter buffer is written whole.
  run.tables.buffers.push_back({1024, BufferUse::params});
  run.tables.params = static_cast<uint32_t>(run.tables.buffers.size() - 1);
  EXPECT_TRUE(executor.check(run.tables, run.step, StepKind::run));
}

TEST(CheckExecutor, FollowsALoadStep) {
  enum : uint32_t { kRaw, kPacked, kLoadParams, kConstant };
  Tables tables;
  tables.buffers = {
      {64, BufferUse::staging}, {64, BufferUse::constant}, {256, BufferUse::params}, {64, BufferUse::constant}};
  tables.pipelines = {{0, 0}};
  tables.bind_groups = {{0, 3, {kRaw, kConstant, kPacked}}};
  tables.params = kLoadParams;
  Step step;
  step.params.resize(256);
  step.commands = {
      {.kind = CommandKind::upload, .to = kConstant, .from_offset = 3, .size = 96, .convert = Convert::i64_to_i32},
      {.kind = CommandKind::upload, .to = kRaw, .from_offset = 99, .size = 31},
      {.grid = {1, 1, 1}}};
  step.uses = {{}, {}, {Use{kNone, 31}, Use{kNone, 48}, Use{kNone, 64}}};
  step.phases = {{0, 3, {}}};
  auto load = [&] { return CheckExecutor(Capabilities{}, kKernels).check(tables, step, StepKind::load); };
  auto loaded = load();
  EXPECT_TRUE(loaded) << loaded.error().to_string();
  step.uses[2][1].bytes = 52;
  EXPECT_FALSE(load()) << "more is read of the constant than was uploaded";
  step.uses[2][1].bytes = 48;
  tables.buffers[kPacked].use = BufferUse::activation;
  EXPECT_FALSE(load()) << "a load Step writes constants only";
}

TEST(ByteSet, MergesRangesInAnyOrder) {
  ByteSet set;
  set.add(8, 12);
  set.add(0, 4);
  EXPECT_FALSE(set.contains(0, 12));
  EXPECT_TRUE(set.contains(9, 11));
  set.add(20, 20);
  EXPECT_FALSE(set.contains(20, 21));
  set.add(4, 8);
  EXPECT_TRUE(set.contains(0, 12));
  EXPECT_FALSE(set.contains(0, 13));
  EXPECT_TRUE(set.contains(50, 50)) << "no bytes are in every set";
}

}  // namespace
}  // namespace sconce::record
