#include "planner/method.h"

#include <fmt/ranges.h>

#include "base/sha256.h"

namespace sconce::planner {
namespace {

using graph::Graph;
using graph::Node;

// Shapes of a node's arguments, for the list of unsupported operators: "[1, 8] f32, Int".
std::string describe_arguments(const Graph& graph, const Node& node) {
  std::vector<std::string> items;
  for (ValueId id : node.args) {
    const graph::TensorValue* tensor = graph.tensor(id);
    items.push_back(tensor ? fmt::format("{} {}", tensor->dtype, tensor->bound)
                           : std::string(graph::kind_of(graph.values[id])));
  }
  return fmt::format("{}", fmt::join(items, ", "));
}

// The same fault in many nodes is one line; a program can have hundreds of them.
class FaultList {
 public:
  void add(const Graph& graph, NodeId node, std::string_view reason) {
    const std::string key = fmt::format("{}: {}", graph.nodes[node].op, reason);
    for (auto& [seen, places] : faults_)
      if (seen == key) {
        ++places.count;
        return;
      }
    faults_.push_back(
        {key, {fmt::format("node {}", graph.nodes[node].name), describe_arguments(graph, graph.nodes[node]), 1}});
  }
  bool empty() const { return faults_.empty(); }
  std::string text() const {
    std::string text;
    for (const auto& [fault, places] : faults_)
      text += fmt::format("\n  {} ({}{}; arguments: {})", fault, places.first,
                          places.count > 1 ? fmt::format(" and {} more", places.count - 1) : "", places.arguments);
    return text + "\n`sconce operators` lists what there is; export the model without these, or add them.";
  }

 private:
  struct Places {
    std::string first, arguments;
    int count;
  };
  std::vector<std::pair<std::string, Places>> faults_;
};

class LoadTimeConstants final : public ops::ConstantProvider {
 public:
  LoadTimeConstants(Method& method, ConstantTable& table) : method_(method), table_(table) {}

  Result<std::span<const ops::ConstantPart>> parts(ValueId constant, ops::Packing packing) override {
    auto& parts = method_.parts[Method::part_key(constant, packing)];
    if (parts.empty()) {
      SCONCE_TRY(parts, table_.request(constants_of(constant), packing));
    }
    return std::span<const ops::ConstantPart>(parts);
  }
  std::optional<std::vector<int64_t>> host_integers(ValueId) override { return std::nullopt; }
  uint32_t live_entry(ValueId) override { return 0; }  // no SymInt is known yet

 private:
  // The constants that a value is: itself, or the items of a list.
  std::vector<const graph::TensorValue*> constants_of(ValueId value) const {
    const auto* list = std::get_if<graph::ValueList>(&method_.graph.values[value]);
    if (!list) return {method_.graph.tensor(value)};
    std::vector<const graph::TensorValue*> constants;
    for (ValueId item : list->items) constants.push_back(method_.graph.tensor(item));
    return constants;
  }

  Method& method_;
  ConstantTable& table_;
};

// Constants that are written in place are states, whatever the front end knew of the operator.
void mark_states(Method& method) {
  for (size_t n = 0; n < method.graph.nodes.size(); ++n) {
    const Node& node = method.graph.nodes[n];
    for (int8_t arg : method.operators[n]->effects.writes) {
      if (arg < 0 || static_cast<size_t>(arg) + 1 >= node.args.size()) continue;
      auto* tensor = std::get_if<graph::TensorValue>(&method.graph.values[node.args[static_cast<size_t>(arg)]]);
      if (tensor && tensor->constant) tensor->is_state = true;
    }
  }
}

Result<void> find_operators(Method& method) {
  FaultList faults;
  for (NodeId n = 0; n < method.graph.nodes.size(); ++n) {
    const Node& node = method.graph.nodes[n];
    method.operators.push_back(ops::find_operator(node.op));
    if (method.operators.back() == nullptr) faults.add(method.graph, n, "there is no such operator in Sconce");
  }
  if (faults.empty()) return {};
  return fail(ErrorCode::unsupported, "Method {} uses operators that Sconce cannot run:{}", method.graph.method,
              faults.text());
}

// A constant that a node binds as it is.
bool is_plain_constant(const Method& method, ValueId value) {
  const graph::TensorValue* tensor = method.graph.tensor(method.layout.root[value]);
  return tensor && tensor->constant && !tensor->is_state;
}

Result<void> request_raw(Method& method, LoadTimeConstants& provider, ValueId value) {
  const ValueId root = method.layout.root[value];
  if (!is_plain_constant(method, root)) return {};
  SCONCE_DO(provider.parts(root, ops::Packing::raw));
  return {};
}

// A state's first contents are loaded once and copied into each session, unless they are zeros: then they are cleared.
bool starts_from_file(const graph::TensorValue& tensor) {
  return tensor.is_state && tensor.constant && tensor.constant->key != sha256_hex_of_zeros(tensor.constant->range.size);
}

bool has_packing(const Method& method, ValueId value) {
  for (size_t p = 0; p < ops::kPackingCount; ++p)
    if (method.parts.contains(Method::part_key(value, static_cast<ops::Packing>(p)))) return true;
  return false;
}

Result<void> check_nodes(Method& method, ConstantTable& table) {
  const Graph& graph = method.graph;
  LoadTimeConstants provider(method, table);
  ops::LiveValues bounds;
  bounds.shapes.resize(graph.values.size());
  bounds.symints.resize(graph.values.size());
  bounds.known.resize(graph.values.size());
  for (ValueId v = 0; v < graph.values.size(); ++v)
    if (const graph::TensorValue* tensor = graph.tensor(v)) bounds.shapes[v] = tensor->bound;

  FaultList faults;
  ops::NodePlan plan;
  for (NodeId n = 0; n < graph.nodes.size(); ++n) {
    plan.begin(&graph, &graph.nodes[n], method.capabilities);
    const Result<void> planned =
        method.operators[n]->plan(ops::Call(graph, graph.nodes[n], bounds, method.capabilities, provider), plan);
    if (!planned && (planned.error().code == ErrorCode::unsupported || !method.layout.on_symint[n]))
      faults.add(graph, n, planned.error().message);
    for (const ops::PlannedCommand& command : plan.commands())
      for (const ops::Operand& operand : command.operands)
        if (operand.kind == ops::Operand::Kind::value) SCONCE_DO(request_raw(method, provider, operand.id));
    // A plan that stopped at an unknown SymInt may not have come to its constants.
    if (!planned || plan.host_wait()) {
      for (ValueId v : graph.nodes[n].args)
        if (graph.tensor(v) && !has_packing(method, v)) SCONCE_DO(request_raw(method, provider, v));
    }
  }
  for (ValueId output : graph.outputs)
    if (graph.tensor(output)) SCONCE_DO(request_raw(method, provider, output));
  for (ValueId v = 0; v < graph.values.size(); ++v)
    if (const graph::TensorValue* tensor = graph.tensor(v); tensor && starts_from_file(*tensor))
      SCONCE_DO(provider.parts(v, ops::Packing::raw));
  if (faults.empty()) return {};
  return fail(ErrorCode::unsupported, "Method {} has nodes that Sconce cannot run:{}", graph.method, faults.text());
}

}  // namespace

Result<Method> prepare_method(Graph graph, const record::Capabilities& capabilities, ConstantTable& constants) {
  Method method;
  method.graph = std::move(graph);
  method.capabilities = capabilities;
  SCONCE_DO(find_operators(method));
  mark_states(method);
  method.layout = lay_out(method.graph, method.operators);
  SCONCE_DO(check_nodes(method, constants));
  return method;
}

std::string node_label(const Graph& graph, NodeId node) {
  return fmt::format("node {} ({})", graph.nodes[node].name, graph.nodes[node].op);
}

}  // namespace sconce::planner
