// What goes wrong reaches the caller as a sentence, changes nothing, and leaves the session usable: bad files, bad
// inputs, small devices; and the life cycle of devices, models, sessions and pending runs.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <random>

#include "io/files.h"
#include "sconce/model.h"
#include "support/case_file.h"
#include "support/devices.h"

namespace sconce {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

fs::path program(const std::string& name) {
  return fs::path(SCONCE_FIXTURES) / "ops" / (name + ".pte");
}

template <typename T>
T expect_ok(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << result.error().to_string();
    std::abort();  // what follows needs the value
  }
  return *std::move(result);
}

Model load(const std::string& name, Device* device = test::device()) {
  return expect_ok(Model::load(*device, program(name)));
}

// A sentence, or one that introduces a list.
void expect_sentence(const Error& error) {
  const std::string first = error.message.substr(0, error.message.find(":\n"));
  EXPECT_TRUE(error.message.ends_with('.') || first.size() < error.message.size()) << error.message;
}

template <typename T>
void expect_error(const Result<T>& result, ErrorCode code) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, code) << result.error().to_string();
  expect_sentence(result.error());
}

std::vector<TensorView> views(const std::vector<Tensor>& tensors) {
  return {tensors.begin(), tensors.end()};
}

// The runs of a case, which a session must still get right after something went wrong.
class Probe {
 public:
  explicit Probe(const std::string& name) : file_(expect_ok(test::read_case(program(name)))) {}

  void expect_right(Session& session, size_t run = 0) const {
    const auto outputs = expect_ok(session.run(views(file_.runs[run].inputs)));
    expect_right(outputs, run);
  }
  void expect_right(const std::vector<Tensor>& outputs, size_t run = 0) const {
    ASSERT_EQ(outputs.size(), file_.runs[run].goldens.size());
    for (size_t i = 0; i < outputs.size(); ++i)
      EXPECT_EQ(test::difference(outputs[i], file_.runs[run].goldens[i], file_.tolerance), "") << "output " << i;
  }
  std::vector<TensorView> inputs(size_t run = 0) const { return views(file_.runs[run].inputs); }
  size_t runs() const { return file_.runs.size(); }

 private:
  test::CaseFile file_;
};

// ---- files ----

TEST(BadFiles, AMissingFileIsNamed) {
  auto model = Model::load(*test::device(), "no/such/model.pte");
  expect_error(model, ErrorCode::not_found);
  EXPECT_THAT(model.error().message, HasSubstr("no/such/model.pte"));
}

TEST(BadFiles, UnknownOperatorsAreListedAtOnce) {
  auto model = Model::load(*test::device(), program("rejected/unknown_operators"));
  expect_error(model, ErrorCode::unsupported);
  EXPECT_THAT(model.error().message, AllOf(HasSubstr("asinh"), HasSubstr("cumsum"), HasSubstr("[4, 5]")));
}

// Writes a damaged copy of a program and loads it.
class Damaged {
 public:
  explicit Damaged(const std::string& name)
      : bytes_(expect_ok(io::read_file(program(name)))),
        path_(fs::path(testing::TempDir()) / fmt::format("sconce_damaged_{}.pte", getpid())) {}
  ~Damaged() { fs::remove(path_); }

  std::vector<std::byte>& bytes() { return bytes_; }
  Result<Model> load(std::span<const std::byte> bytes) const {
    expect_ok_void(io::write_file(path_, bytes));
    return Model::load(*test::device(), path_, {.warm_up = false});
  }

 private:
  static void expect_ok_void(const Result<void>& result) { EXPECT_TRUE(result) << result.error().to_string(); }

  std::vector<std::byte> bytes_;
  fs::path path_;
};

TEST(BadFiles, ATruncatedFileIsRefused) {
  Damaged file("models/residual_mlp");
  const size_t size = file.bytes().size();
  for (size_t part = 0; part < 64; ++part) {
    auto model = file.load(std::span(file.bytes()).first(size * part / 64));
    ASSERT_FALSE(model) << part << "/64 of the file load";
    expect_sentence(model.error());
    EXPECT_NE(model.error().code, ErrorCode::internal) << model.error().to_string();
  }
  Session session = expect_ok(Session::create(load("models/residual_mlp")));
  Probe("models/residual_mlp").expect_right(session);
}

TEST(BadFiles, AFlippedBitIsRefusedOrHarmless) {
  const Probe probe("models/residual_mlp");
  Damaged file("models/residual_mlp");
  std::mt19937 random(5);
  size_t refused = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const size_t at = random() % file.bytes().size();
    const std::byte bit = std::byte{1} << random() % 8;
    file.bytes()[at] ^= bit;
    SCOPED_TRACE(fmt::format("bit {} of byte {}", std::to_integer<int>(bit), at));
    auto model = file.load(file.bytes());
    file.bytes()[at] ^= bit;
    if (!model) {
      ++refused;
      expect_sentence(model.error());
      EXPECT_NE(model.error().code, ErrorCode::internal) << model.error().to_string();
    } else if (auto session = Session::create(*model)) {
      (void)session->run(probe.inputs());  // right or wrong, but it ends
    }
    ASSERT_TRUE(test::device()->check()) << "the device outlives every file";
  }
  EXPECT_GT(refused, 10u);
  Session session = expect_ok(Session::create(load("models/residual_mlp")));
  probe.expect_right(session);
}

TEST(BadFiles, AMethodThatIsNotThereIsNamed) {
  auto session = Session::create(load("models/residual_mlp"), "backward");
  expect_error(session, ErrorCode::not_found);
  EXPECT_THAT(session.error().message, HasSubstr("backward"));
}

// ---- inputs ----

struct BadInput {
  const char* name;
  const char* program;
  std::vector<Tensor> inputs;
  std::vector<const char*> message;  // parts of it
};

void PrintTo(const BadInput& bad, std::ostream* out) {
  *out << bad.name;
}

Tensor tokens(int64_t count, int64_t value = 1) {
  return Tensor::of<int64_t>({1, count}, std::vector<int64_t>(static_cast<size_t>(count), value));
}
Tensor position(int64_t value) {
  return Tensor::of<int64_t>({1}, {value});
}

// A shape of half a terabyte without its bytes: refused before any memory is taken for it.
Tensor huge() {
  Tensor tensor = Tensor::zeros(Dtype::f32, {1, 1, 32});
  tensor.shape[1] = 4294967295;
  return tensor;
}

std::vector<BadInput> bad_inputs() {
  const char* mlp = "models/residual_mlp";
  const char* llama = "models/llama";
  return {
      {"WrongRank", mlp, {Tensor::zeros(Dtype::f32, {4, 32})}, {"Input 0", "[4, 32]", "3 dims", "[1, 40, 32]"}},
      {"AboveTheBound", mlp, {Tensor::zeros(Dtype::f32, {1, 41, 32})}, {"Input 0", "41", "dim 1", "40"}},
      {"FarAboveTheBound", mlp, {huge()}, {"Input 0", "4294967295", "dim 1", "40"}},
      {"StaticDim", mlp, {Tensor::zeros(Dtype::f32, {1, 4, 33})}, {"Input 0", "33", "dim 2", "32"}},
      {"StaticDimBelow", mlp, {Tensor::zeros(Dtype::f32, {1, 4, 31})}, {"31", "32"}},
      {"WrongDtype", mlp, {Tensor::zeros(Dtype::i32, {1, 4, 32})}, {"i32", "f32"}},
      {"NoInputs", mlp, {}, {"takes 1 inputs", "0 were given"}},
      {"TooManyInputs", llama, {tokens(1), position(0), position(0)}, {"takes 2 inputs", "3 were given"}},
      {"CapacityExceeded", llama, {tokens(1), position(64)}, {"64"}},
      {"CapacityExceededByAPrompt", llama, {tokens(20), position(45)}, {"20 tokens", "= 45", "context length"}},
      {"NegativePosition", llama, {tokens(1), position(-1)}, {"-1"}},
      {"Beyond32Bits", llama, {tokens(3, int64_t{1} << 40), position(0)}, {"1099511627776", "32 bits"}},
      {"PositionBeyond32Bits", llama, {tokens(1), position(int64_t{1} << 40)}, {"1099511627776", "32 bits"}},
  };
}

class BadInputs : public testing::TestWithParam<BadInput> {};

TEST_P(BadInputs, AreExplainedAndChangeNothing) {
  const Probe probe(GetParam().program);
  const Model model = load(GetParam().program);
  Session session = expect_ok(Session::create(model, "forward", {.poison = true}));
  for (size_t run = 0; run < 3; ++run) {
    auto outputs = session.run(views(GetParam().inputs));
    expect_error(outputs, ErrorCode::invalid_argument);
    for (const char* part : GetParam().message) EXPECT_THAT(outputs.error().to_string(), HasSubstr(part));
    probe.expect_right(session, run);  // with a cache, each run needs what the ones before left there
  }
}

INSTANTIATE_TEST_SUITE_P(All, BadInputs, testing::ValuesIn(bad_inputs()),
                         [](const auto& info) { return std::string(info.param.name); });

// ---- devices ----

TEST(SmallDevices, AnUnknownAdapterIsNamed) {
  auto device = Device::open({.adapter = "no such adapter"});
  expect_error(device, ErrorCode::not_found);
  EXPECT_THAT(device.error().message, HasSubstr("no such adapter"));
}

// Grids of three dims, and neither subgroups nor f16.
TEST(SmallDevices, EightWorkgroupsADimAreEnough) {
  DeviceOptions options;
  options.lowered.f16 = options.lowered.subgroups = false;
  options.lowered.max_workgroups_per_dimension = 8;
  options.lowered.max_workgroup_storage_bytes = 16384;
  Device device = expect_ok(Device::open(options));
  for (const char* name : {"models/residual_mlp", "models/pooled", "models/llama"}) {
    SCOPED_TRACE(name);
    const Probe probe(name);
    Session session = expect_ok(Session::create(load(name, &device), "forward", {.poison = true}));
    for (size_t run = 0; run < 4; ++run) probe.expect_right(session, run);
  }
}

TEST(SmallDevices, ABindingThatIsTooSmallIsExplainedAtLoad) {
  DeviceOptions options;
  options.lowered.max_storage_binding_bytes = 4096;
  Device device = expect_ok(Device::open(options));
  auto model = Model::load(device, program("models/residual_mlp"));  // its activations take 40 x 48 x 4 bytes
  expect_error(model, ErrorCode::unsupported);
  EXPECT_THAT(model.error().message, AllOf(HasSubstr("7680"), HasSubstr("4096")));
}

// ---- loading ----

TEST(Loading, ReportsProgressAndCanBeCancelled) {
  std::vector<LoadProgress> reports;
  auto keep = [&](const LoadProgress& progress) {
    reports.push_back(progress);
    return true;
  };
  expect_ok(Model::load(*test::device(), program("models/llama"), {.progress = keep}));
  ASSERT_GE(reports.size(), 2u);
  EXPECT_EQ(reports.back().done, reports.back().total);
  for (size_t stop = 0; stop < reports.size(); ++stop) {
    size_t calls = 0;
    auto cancelled = Model::load(*test::device(), program("models/llama"),
                                 {.progress = [&](const LoadProgress&) { return calls++ < stop; }});
    expect_error(cancelled, ErrorCode::cancelled);
    EXPECT_EQ(calls, stop + 1) << "nothing is reported after it";
  }
  Session session = expect_ok(Session::create(load("models/llama")));
  Probe("models/llama").expect_right(session);
}

// ---- pending runs ----

TEST(PendingRuns, ArePolledOrWaitedFor) {
  const Probe probe("models/llama");
  Session session = expect_ok(Session::create(load("models/llama")));
  auto polled = expect_ok(session.start(probe.inputs(0)));
  while (!expect_ok(polled.poll())) {
  }
  probe.expect_right(expect_ok(polled.wait()), 0);
  probe.expect_right(expect_ok(expect_ok(session.start(probe.inputs(1))).wait()), 1);
}

TEST(PendingRuns, OneAtATime) {
  const Probe probe("models/llama");
  Session session = expect_ok(Session::create(load("models/llama")));
  auto pending = expect_ok(session.start(probe.inputs(0)));
  auto second = session.run(probe.inputs(1));
  expect_error(second, ErrorCode::invalid_argument);
  EXPECT_THAT(second.error().message, HasSubstr("pending"));
  auto reset = session.reset();
  expect_error(reset, ErrorCode::invalid_argument);
  probe.expect_right(expect_ok(pending.wait()), 0);
  probe.expect_right(session, 1);
}

TEST(PendingRuns, ACancelledOneLeavesTheSessionUsable) {
  const Probe probe("models/llama");
  Session session = expect_ok(Session::create(load("models/llama")));
  auto pending = expect_ok(session.start(probe.inputs(0)));
  pending.cancel();
  probe.expect_right(session, 1);  // the cache was written all the same
  { auto dropped = expect_ok(session.start(probe.inputs(2))); }
  probe.expect_right(session, 3);
}

TEST(PendingRuns, OutliveTheirSession) {
  const Probe probe("models/pooled");
  auto start = [&] {
    Session session = expect_ok(Session::create(load("models/pooled")));
    return expect_ok(session.start(probe.inputs(0)));
  };
  probe.expect_right(expect_ok(start().wait()), 0);
}

// ---- sessions ----

TEST(Sessions, ShareWeightsButNotState) {
  const Probe probe("models/llama");
  const Model model = load("models/llama");
  const uint64_t weights = model.weight_bytes();
  Session a = expect_ok(Session::create(model)), b = expect_ok(Session::create(model));
  // b is two runs behind a all the time.
  for (size_t run = 0; run < 7; ++run) {
    if (run < 5) probe.expect_right(a, run);
    if (run >= 2) probe.expect_right(b, run - 2);
  }
  EXPECT_EQ(model.weight_bytes(), weights);
  EXPECT_EQ(a.statistics().device_bytes, b.statistics().device_bytes);
  EXPECT_TRUE(a.reset());
  probe.expect_right(b, 5);
  for (size_t run = 0; run < 3; ++run) probe.expect_right(a, run);
}

TEST(Sessions, KeepWhatTheyNeedAlive) {
  const Probe probe("models/llama");
  std::optional<Session> session;
  {
    Device device = expect_ok(Device::open());
    Model model = load("models/llama", &device);
    session = expect_ok(Session::create(model));
  }
  for (size_t run = 0; run < 3; ++run) probe.expect_right(*session, run);
}

TEST(Sessions, AreMoved) {
  const Probe probe("models/llama");
  Model model = load("models/llama");
  Model moved_model = std::move(model);
  Session session = expect_ok(Session::create(moved_model));
  probe.expect_right(session, 0);
  Session moved = std::move(session);
  probe.expect_right(moved, 1);
  auto pending = expect_ok(moved.start(probe.inputs(2)));
  session = std::move(moved);  // while a run is pending
  probe.expect_right(expect_ok(pending.wait()), 2);
  probe.expect_right(session, 3);
}

TEST(Sessions, GiveTheirMemoryBack) {
  const Probe probe("models/pooled");
  const Model model = load("models/pooled");
  uint64_t first = 0;
  for (int i = 0; i < 100; ++i) {
    Session session = expect_ok(Session::create(model));
    for (size_t run = 0; run < probe.runs(); ++run) probe.expect_right(session, run);
    if (i == 0) first = session.statistics().device_bytes;
    ASSERT_EQ(session.statistics().device_bytes, first);
  }
}

}  // namespace
}  // namespace sconce
