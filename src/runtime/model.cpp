#include "runtime/model.h"

#include "graph/build.h"
#include "passes/passes.h"
#include "program/metadata.h"

namespace sconce::runtime {

Result<std::unique_ptr<Model>> Model::create(const program::Program& program, const ModelOptions& options) {
  std::unique_ptr<Model> model(new Model(options));
  model->metadata_ = program::metadata(program);
  for (const program::Method& method : program.methods) {
    if (model->metadata_.contains(method.name)) continue;
    SCONCE_TRY(graph::Graph graph, graph::build_graph(program, method.name));
    passes::remove_dead_nodes(graph);
    SCONCE_TRY(planner::Method prepared,
               planner::prepare_method(std::move(graph), options.capabilities, model->constants_));
    model->methods_.emplace(method.name, std::move(prepared));
  }
  SCONCE_CHECK(!model->methods_.empty(), "The program has no method that computes anything.");
  SCONCE_TRY(model->load_step_, model->constants_.plan_load(model->tables_));
  return model;
}

const planner::Method* Model::method(std::string_view name) const {
  auto found = methods_.find(name);
  return found == methods_.end() ? nullptr : &found->second;
}

}  // namespace sconce::runtime
