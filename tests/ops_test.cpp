// Every operator case against its goldens: in one session whose live shapes change in the listed order and then in
// random order, and in fresh sessions; on the device as it is, and without its optional features; and, without a GPU,
// on every combination of capabilities. On the GPU activations are poisoned and every Step passes the check executor.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <optional>
#include <random>

#include "graph/build.h"
#include "ops/contract.h"
#include "passes/passes.h"
#include "runtime/model.h"
#include "sconce/model.h"
#include "support/capability_sets.h"
#include "support/case_file.h"
#include "support/devices.h"
#include "support/dry_session.h"
#include "webgpu/mapped_file.h"

namespace sconce {
namespace {

using test::CaseFile;
using test::CaseRun;
using test::Features;

std::vector<TensorView> views(const std::vector<Tensor>& tensors) {
  return {tensors.begin(), tensors.end()};
}

// A failing run must say why, in a sentence.
void expect_sentence(const Error& error) {
  EXPECT_TRUE(error.message.ends_with('.')) << error.message;
  EXPECT_NE(error.code, ErrorCode::internal) << error.to_string();
}

// Small limits make some programs impossible: then loading or the run says which number is too large.
void expect_too_small(const Error& error) {
  EXPECT_EQ(error.code, ErrorCode::unsupported) << error.to_string();
  EXPECT_NE(error.message.find_first_of("0123456789"), std::string::npos) << error.message;
}

double greatest(const Tensor& tensor) {
  double most = 0;
  if (tensor.dtype == Dtype::f32)
    for (float v : tensor.as<float>())
      if (std::isfinite(v)) most = std::max(most, std::abs(static_cast<double>(v)));
  return most;
}

// `of_greatest` of an output's greatest element is allowed on top of the case's tolerance.
void expect_outputs(const Result<std::vector<Tensor>>& outputs, const CaseFile& file, size_t index,
                    double of_greatest = 0) {
  SCOPED_TRACE(fmt::format("run {}", index));
  const CaseRun& run = file.runs[index];
  if (run.fails) {
    ASSERT_FALSE(outputs) << "the run must fail";
    return expect_sentence(outputs.error());
  }
  ASSERT_TRUE(outputs) << outputs.error().to_string();
  // A method returns the inputs that it writes before what the module returns, and goldens hold the latter.
  ASSERT_GE(outputs->size(), run.goldens.size());
  const size_t first = outputs->size() - run.goldens.size();
  for (size_t i = 0; i < run.goldens.size(); ++i) {
    test::Tolerance tolerance = file.tolerance;
    tolerance.atol += of_greatest * greatest(run.goldens[i]);
    EXPECT_EQ(test::difference((*outputs)[first + i], run.goldens[i], tolerance), "") << "output " << i;
  }
}

void expect_run(Session& session, const CaseFile& file, size_t index, double of_greatest = 0) {
  expect_outputs(session.run(views(file.runs[index].inputs)), file, index, of_greatest);
}

class OperatorCase : public testing::TestWithParam<std::filesystem::path> {
 protected:
  void SetUp() override {
    auto file = test::read_case(GetParam());
    ASSERT_TRUE(file) << file.error().to_string();
    file_ = *std::move(file);
  }
  void load(Features features, LoadOptions options = {}) {
    Device* device = test::device(features);
    ASSERT_NE(device, nullptr);
    options.data_files = file_.data_files;
    options.warm_up = false;
    auto model = Model::load(*device, file_.program, options);
    ASSERT_EQ(model.has_value(), file_.loads) << (model ? "" : model.error().to_string());
    if (model) {
      model_ = *std::move(model);
    } else {
      expect_sentence(model.error());
    }
  }
  Session session() {
    auto session = Session::create(*model_, "forward", {.poison = true});
    if (!session) ADD_FAILURE() << session.error().to_string();
    return *std::move(session);
  }

  // All runs in one session, in the listed order.
  void run_once(Features features) {
    load(features);
    if (!model_) return;
    Session session = this->session();
    for (size_t i = 0; i < file_.runs.size(); ++i) expect_run(session, file_, i);
  }
  // The same; then, if the runs stand alone, again in random order, else again after a reset.
  void run_reused(Features features, bool fuse = true) {
    load(features, {.fuse = fuse});
    if (!model_) return;
    Session session = this->session();
    std::vector<size_t> order(file_.runs.size());
    std::iota(order.begin(), order.end(), 0);
    for (size_t i : order) expect_run(session, file_, i);
    if (HasFailure()) return;
    if (file_.stateful) {
      ASSERT_TRUE(session.reset());
    } else {
      std::ranges::shuffle(order, std::mt19937(static_cast<uint32_t>(order.size())));
    }
    SCOPED_TRACE("second pass");
    for (size_t i : order) expect_run(session, file_, i);
    auto guards = session.check_guards();
    EXPECT_TRUE(guards) << guards.error().to_string();
  }
  void run_fresh(Features features) {
    load(features);
    if (!model_) return;
    if (file_.stateful) {
      Session session = this->session();
      for (size_t i = 0; i < file_.runs.size(); ++i) expect_run(session, file_, i);
      return;
    }
    for (size_t i = 0; i < file_.runs.size(); ++i) {
      Session session = this->session();
      expect_run(session, file_, i);
    }
  }

  CaseFile file_;
  std::optional<Model> model_;
};

TEST_P(OperatorCase, InAReusedSession) {
  run_reused(Features::all);
}
TEST_P(OperatorCase, InFreshSessions) {
  run_fresh(Features::all);
}
TEST_P(OperatorCase, InAReusedSessionWithTheKernelsOfAGpu) {
  run_reused(Features::gpu);
}
TEST_P(OperatorCase, InAReusedSessionOfASmallDevice) {
  run_reused(Features::small);
}
TEST_P(OperatorCase, InFreshSessionsOfASmallDevice) {
  run_fresh(Features::small);
}

// What a device with bindings of 10 KiB can run gives the same there; the cases that were made for it must run.
TEST_P(OperatorCase, InOneSessionOfADeviceWithNarrowBindings) {
  if (!file_.loads) return;
  auto expect_refusal = [&](const Error& error) {
    EXPECT_FALSE(GetParam().stem().string().ends_with("_in_parts")) << error.to_string();
    expect_too_small(error);
  };
  Device* device = test::device(Features::narrow);
  ASSERT_NE(device, nullptr);
  auto model = Model::load(*device, file_.program, {.data_files = file_.data_files, .warm_up = false});
  if (!model) return expect_refusal(model.error());
  auto session = Session::create(*model, "forward", {.poison = true});
  if (!session) return expect_refusal(session.error());
  for (size_t i = 0; i < file_.runs.size(); ++i) {
    auto outputs = session->run(views(file_.runs[i].inputs));
    if (!outputs && !file_.runs[i].fails) return expect_refusal(outputs.error());
    expect_outputs(outputs, file_, i);
  }
}

// Operands of 11 significant bits: each product is off by up to 2^-10 of itself, and sums of many by a small part of
// the greatest element, here up to 2^-8 after a few layers.
TEST_P(OperatorCase, WithFastPrecision) {
  constexpr double kF16Products = 1.0 / 256;
  load(Features::all, {.precision = Precision::fast});
  if (!model_) return;
  Session session = this->session();
  for (size_t i = 0; i < file_.runs.size(); ++i) expect_run(session, file_, i, kF16Products);
}

Result<program::Program> read_program(const CaseFile& file) {
  SCONCE_TRY(webgpu::ProgramFiles files, webgpu::open_program(file.program.string(), file.data_files));
  return std::move(files.program);
}

// The graph of a case as it is planned.
Result<graph::Graph> rewritten_graph(const CaseFile& file) {
  SCONCE_TRY(program::Program program, read_program(file));
  SCONCE_TRY(graph::Graph graph, graph::build_graph(program, "forward"));
  passes::rewrite(graph, {});
  return graph;
}

// Whether a pass makes a fused node.
bool is_fused(const CaseFile& file) {
  auto graph = rewritten_graph(file);
  return graph &&
         std::ranges::any_of(graph->nodes, [](const graph::Node& node) { return node.op.starts_with("sconce."); });
}

// The nodes that a fused one takes the place of must give the same.
TEST_P(OperatorCase, WithoutFusion) {
  if (!is_fused(file_)) return;
  run_reused(Features::all, /*fuse=*/false);
  run_reused(Features::plain, /*fuse=*/false);
}

void plan_all_runs(const program::Program& program, const CaseFile& file, const test::CapabilitySet& set, bool fuse) {
  const record::Capabilities defaults;
  const bool small = set.capabilities.max_workgroups_per_dimension < defaults.max_workgroups_per_dimension ||
                     set.capabilities.max_storage_binding_bytes < defaults.max_storage_binding_bytes;
  auto model = runtime::Model::create(program, {.capabilities = set.capabilities, .fuse = fuse});
  if (!model && small) return expect_too_small(model.error());
  ASSERT_TRUE(model) << model.error().to_string();
  auto session = test::DrySession::create(**model, set.capabilities);
  ASSERT_TRUE(session) << session.error().to_string();
  for (const CaseRun& run : file.runs) {
    auto done = (*session)->run(views(run.inputs));
    if (!done && small && !run.fails) {
      expect_too_small(done.error());
    } else if (run.fails) {
      ASSERT_FALSE(done);
      expect_sentence(done.error());
    } else {
      ASSERT_TRUE(done) << done.error().to_string();
    }
  }
}

TEST_P(OperatorCase, IsPlannedForEveryDevice) {
  if (!file_.loads) return;
  auto program = read_program(file_);
  ASSERT_TRUE(program) << program.error().to_string();
  for (const test::CapabilitySet& set : test::all_capability_sets()) {
    SCOPED_TRACE(set.name);
    plan_all_runs(*program, file_, set, /*fuse=*/true);
    if (is_fused(file_)) plan_all_runs(*program, file_, set, /*fuse=*/false);
    if (HasFailure()) return;
  }
}

std::string test_name(const testing::TestParamInfo<std::filesystem::path>& info) {
  std::string name = test::case_name(info.param);
  std::ranges::replace(name, '/', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, OperatorCase, testing::ValuesIn(test::find_cases(test::Cases::committed)), test_name);

// Keys and values of 11 significant bits: each is off by up to 2^-12 of itself, which moves a score by as much of its
// terms, and the greatest of an output by up to 2^-10 in these cases.
class HalfCacheCase : public OperatorCase {};

TEST_P(HalfCacheCase, AgreesWithinTheRounding) {
  constexpr double kF16Caches = 1.0 / 1024;
  load(Features::all, {.half_caches = true});
  if (!model_) return;
  Session session = this->session();
  for (size_t i = 0; i < file_.runs.size(); ++i) expect_run(session, file_, i, kF16Caches);
}

std::vector<std::filesystem::path> cases_with_caches() {
  std::vector<std::filesystem::path> cases = test::find_cases(test::Cases::committed);
  std::erase_if(cases, [](const auto& path) {
    const std::string family = path.parent_path().filename().string();
    return family != "attention" && family != "models";
  });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Cases, HalfCacheCase, testing::ValuesIn(cases_with_caches()), test_name);

// Large cases take seconds, so they run in the listed order only.
class LargeOperatorCase : public OperatorCase {};

TEST_P(LargeOperatorCase, InOneSession) {
  run_once(Features::all);
}
TEST_P(LargeOperatorCase, InOneSessionOfAPlainDevice) {
  run_once(Features::plain);
}

INSTANTIATE_TEST_SUITE_P(Cases, LargeOperatorCase, testing::ValuesIn(test::find_cases(test::Cases::generated)),
                         test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LargeOperatorCase);  // where none were generated

// ---- the catalogue ----

const std::set<std::string> kNotExported = {
    "aten.permute.default",  // the exporter always writes permute_copy, which is planned by the same function
    "sconce.sample",         // appended to a graph by Sconce; tests/sampling_test.cpp runs it
};

TEST(OperatorCases, CoverTheCatalogue) {
  std::map<std::string, int> cases;
  for (const ops::OperatorInfo& op : ops::catalog()) cases[std::string(op.name)] = 0;
  for (const auto& path : test::find_cases(test::Cases::committed)) {
    auto file = test::read_case(path);
    ASSERT_TRUE(file) << file.error().to_string();
    auto program = read_program(*file);
    ASSERT_TRUE(program) << program.error().to_string();
    auto graph = graph::build_graph(*program, "forward"), rewritten = rewritten_graph(*file);
    if (!graph) continue;  // a case of which loading must fail
    std::set<std::string> names;
    for (const graph::Node& node : graph->nodes) names.insert(node.op);
    for (const graph::Node& node : rewritten->nodes) names.insert(node.op);
    for (const std::string& name : names)
      if (auto found = cases.find(name); found != cases.end()) ++found->second;
  }
  for (const auto& [op, count] : cases) {
    fmt::print("{:5} {}\n", count, op);
    EXPECT_EQ(count == 0, kNotExported.contains(op)) << op << " needs a case, or has one by now";
  }
}

}  // namespace
}  // namespace sconce
