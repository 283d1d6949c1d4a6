#include "graph/check.h"

#include "base/error.h"

namespace sconce::graph {
namespace {

class Checker {
 public:
  explicit Checker(const Graph& graph) : graph_(graph), made_(graph.values.size()) {}

  Result<void> inputs() {
    for (ValueId id : graph_.inputs) {
      SCONCE_DO(exists(id));
      made_[id] = true;
    }
    return {};
  }

  Result<void> read(ValueId id) {
    SCONCE_DO(exists(id));
    if (const auto* list = std::get_if<ValueList>(&graph_.values[id])) {
      for (ValueId item : list->items)
        if (item != kNone) SCONCE_DO(read_item(item));
      return {};
    }
    return read_item(id);
  }

  Result<void> write(const Node& node) {
    SCONCE_DO(exists(node.args.back()));
    for (ValueId id : outputs_of(graph_, node)) {
      if (id == kNone) continue;
      SCONCE_DO(exists(id));
      const TensorValue* tensor = graph_.tensor(id);
      if (tensor && tensor->is_state) continue;
      if ((!tensor || tensor->constant) && !std::holds_alternative<SymInt>(graph_.values[id]))
        return fail(ErrorCode::corrupt_file, "Its output {} is a {}, which nothing may write.", id,
                    tensor ? "constant" : kind_of(graph_.values[id]));
      if (made_[id]) return fail(ErrorCode::corrupt_file, "Its output {} is made by something else already.", id);
      made_[id] = true;
    }
    return {};
  }

 private:
  Result<void> exists(ValueId id) const {
    if (id >= graph_.values.size())
      return fail(ErrorCode::corrupt_file, "There is no value {}; the graph has {}.", id, graph_.values.size());
    return {};
  }

  Result<void> read_item(ValueId id) const {
    SCONCE_DO(exists(id));
    const Value& value = graph_.values[id];
    const auto* tensor = std::get_if<TensorValue>(&value);
    bool needs_maker = tensor ? !tensor->constant && !tensor->is_state : std::holds_alternative<SymInt>(value);
    if (needs_maker && !made_[id])
      return fail(ErrorCode::corrupt_file, "The {} {} is read before anything makes it.", kind_of(value), id);
    return {};
  }

  const Graph& graph_;
  std::vector<bool> made_;
};

}  // namespace

Result<void> check(const Graph& graph) {
  Checker checker(graph);
  SCONCE_DO(checker.inputs());
  for (const Node& node : graph.nodes) {
    auto checked = [&]() -> Result<void> {
      if (node.args.empty()) return fail(ErrorCode::corrupt_file, "It has no output.");
      for (size_t i = 0; i + 1 < node.args.size(); ++i) SCONCE_DO(checker.read(node.args[i]));
      return checker.write(node);
    }();
    if (!checked)
      return std::unexpected(std::move(checked).error().within(fmt::format("node {} ({})", node.name, node.op)));
  }
  for (ValueId id : graph.outputs) SCONCE_DO(checker.read(id));
  return {};
}

}  // namespace sconce::graph
