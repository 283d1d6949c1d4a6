#include "runtime/model.h"

#include "graph/build.h"
#include "passes/passes.h"
#include "planner/live_planner.h"

namespace sconce::runtime {
namespace {

// Numbers only: the exporter stores lengths, counts and token ids this way.
std::map<std::string, std::vector<int64_t>> read_metadata(const program::Program& program) {
  std::map<std::string, std::vector<int64_t>> numbers;
  for (const auto& [name, values] : program::metadata(program)) {
    std::vector<int64_t>& list = numbers[name];
    for (const program::EValue& value : values) {
      if (const auto* integer = std::get_if<int64_t>(&value)) list.push_back(*integer);
      if (const auto* flag = std::get_if<bool>(&value)) list.push_back(*flag);
    }
  }
  return numbers;
}

}  // namespace

Result<std::unique_ptr<Model>> Model::create(const program::Program& program, const ModelOptions& options) {
  std::unique_ptr<Model> model(new Model(options));
  model->metadata_ = read_metadata(program);
  for (const program::Method& method : program.methods) {
    if (model->metadata_.contains(method.name)) continue;
    SCONCE_TRY(graph::Graph graph, graph::build_graph(program, method.name));
    passes::rewrite(graph, {.fuse = options.fuse, .half_caches = options.half_caches && options.capabilities.f16});
    SCONCE_TRY(planner::Method prepared,
               planner::prepare_method(std::move(graph), options.capabilities, model->constants_));
    model->methods_.emplace(method.name, std::move(prepared));
  }
  SCONCE_CHECK(!model->methods_.empty(), "The program has no method that computes anything.");
  SCONCE_TRY(model->load_step_, model->constants_.plan_load(model->tables_));
  // The pipelines that sessions will need: they compile while weights upload.
  for (const auto& [name, method] : model->methods_) {
    record::Tables tables;
    planner::LivePlanner(method, model->constants(), tables).warm_up();
    for (const record::Pipeline& pipeline : tables.pipelines) model->tables_.pipelines.push_back(pipeline);
  }
  return model;
}

const planner::Method* Model::method(std::string_view name) const {
  auto found = methods_.find(name);
  return found == methods_.end() ? nullptr : &found->second;
}

}  // namespace sconce::runtime
