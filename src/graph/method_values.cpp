#include "graph/method_values.h"

#include <algorithm>

#include "base/error.h"
#include "base/math.h"

namespace sconce::graph {
namespace {

using program::EValueId;
using program::TensorSpec;

// Row-major order, as far as the dims larger than 1 tell.
bool is_contiguous(const TensorSpec& spec) {
  std::vector<uint8_t> order;
  for (uint8_t dim : spec.dim_order)
    if (spec.bound[dim] != 1) order.push_back(dim);
  return std::ranges::is_sorted(order);
}

// A tensor made in each run, of that bound.
Result<Value> run_tensor(const TensorSpec& spec) {
  if (!is_contiguous(spec))
    return fail(ErrorCode::unsupported,
                "A tensor of bound {} is stored in dim order [{}]; Sconce handles contiguous tensors (export without "
                "channels_last).",
                spec.bound, fmt::join(spec.dim_order, ", "));
  return Value(TensorValue{.dtype = device_dtype(spec.dtype), .bound = spec.bound});
}

// A tensor with bytes in the file, which keep the file's element type.
Result<Value> stored_tensor(const TensorSpec& spec, const std::optional<program::Constant>& bytes, bool is_state) {
  SCONCE_TRY(Value value, run_tensor(spec));
  auto& tensor = std::get<TensorValue>(value);
  if (bytes) tensor.dtype = spec.dtype;
  tensor.constant = bytes;
  tensor.is_state = is_state;
  return value;
}

bool is_number(const program::EValue& value) {
  return std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value) ||
         std::holds_alternative<bool>(value);
}

// Marks the numbers that the caller or an instruction sets; all others are literals.
std::vector<bool> find_set_numbers(const program::Method& method) {
  std::vector<bool> set(method.values.size());
  auto mark = [&](EValueId id) {
    if (is_number(method.values[id])) set[id] = true;
  };
  for (EValueId id : method.inputs) mark(id);
  for (const program::Instruction& instruction : method.instructions) {
    if (const auto* call = std::get_if<program::KernelCall>(&instruction)) {
      if (!call->args.empty()) mark(call->args.back());
    } else if (const auto* call = std::get_if<program::DelegateCall>(&instruction)) {
      const auto& blob = method.delegates[call->delegate].blob;
      size_t inputs = blob ? std::min(blob->inputs.size(), call->args.size()) : 0;
      for (size_t i = inputs; i < call->args.size(); ++i) mark(call->args[i]);
    } else if (const auto* move = std::get_if<program::MoveCall>(&instruction)) {
      mark(move->to);
    }
  }
  return set;
}

}  // namespace

Dtype device_dtype(Dtype dtype) {
  if (dtype == Dtype::i64) return Dtype::i32;
  if (dtype == Dtype::f64) return Dtype::f32;
  return dtype;
}

Result<void> GraphWriter::count(size_t items) {
  constexpr size_t kMaxSize = 16'000'000;
  size_ += items;
  if (size_ > kMaxSize)
    return fail(ErrorCode::corrupt_file, "The method's operator calls have more than {} arguments in all.", kMaxSize);
  return {};
}

Result<void> GraphWriter::add_node(Node node) {
  SCONCE_DO(count(node.args.size() + 1));
  graph_.nodes.push_back(std::move(node));
  return {};
}

Result<ValueId> GraphWriter::add_list(std::vector<ValueId> items) {
  SCONCE_DO(count(items.size()));
  return graph_.add(ValueList{std::move(items)});
}

MethodValues::MethodValues(const program::Method& method, GraphWriter& writer)
    : method_(method), writer_(writer), current_(method.values.size(), kNone), set_in_runs_(find_set_numbers(method)) {
  for (EValueId id = 0; id < method.values.size(); ++id) {
    const auto* spec = std::get_if<TensorSpec>(&method.values[id]);
    if (spec && spec->place) first_at_.try_emplace(*spec->place, id);
  }
}

Result<void> MethodValues::add_inputs() {
  Graph& graph = writer_.graph();
  for (size_t i = 0; i < method_.inputs.size(); ++i) {
    EValueId id = method_.inputs[i];
    const program::EValue& value = method_.values[id];
    if (current_[id] != kNone) return fail(ErrorCode::corrupt_file, "Input {} of the method is another input too.", i);
    if (const auto* spec = std::get_if<TensorSpec>(&value)) {
      SCONCE_TRY(Value tensor, run_tensor(*spec));
      bind(id, writer_.add(std::move(tensor)));
      graph.input_dtypes.push_back(spec->dtype);
    } else if (is_number(value) || std::holds_alternative<program::None>(value)) {
      // The exporter does not say what kind a SymInt placeholder is.
      bind(id, writer_.add(SymInt{}));
      graph.input_dtypes.push_back(Dtype::i64);
    } else {
      return fail(ErrorCode::unsupported, "Input {} of the method is neither a tensor nor a number.", i);
    }
    graph.inputs.push_back(current_[id]);
  }
  return {};
}

void MethodValues::bind(EValueId id, ValueId value) {
  current_[id] = value;
  const auto* spec = std::get_if<TensorSpec>(&method_.values[id]);
  if (spec && spec->place) holders_[*spec->place] = value;
}

Result<ValueId> MethodValues::read(EValueId id) {
  if (current_[id] != kNone) return current_[id];
  const program::EValue& value = method_.values[id];
  if (const auto* spec = std::get_if<TensorSpec>(&value)) return read_tensor(id, *spec);
  if (const auto* list = std::get_if<program::IntList>(&value)) return read_ints(*list);
  if (const auto* list = std::get_if<program::TensorList>(&value)) return read_tensors(*list);

  if (is_number(value) && is_set_in_runs(id))
    return fail(ErrorCode::corrupt_file, "The number {} is read before an instruction sets it.", id);
  Value literal = Null{};
  if (const auto* v = std::get_if<int64_t>(&value)) literal = *v;
  if (const auto* v = std::get_if<double>(&value)) literal = *v;
  if (const auto* v = std::get_if<bool>(&value)) literal = *v;
  if (const auto* v = std::get_if<std::string>(&value)) literal = *v;
  if (const auto* v = std::get_if<program::RealList>(&value)) literal = RealList{v->items};
  if (const auto* v = std::get_if<program::BoolList>(&value)) literal = BoolList{v->items};
  return current_[id] = writer_.add(std::move(literal));
}

Result<ValueId> MethodValues::read_ints(const program::IntList& list) {
  IntList literals;
  for (EValueId item : list.items) {
    const auto* integer = std::get_if<int64_t>(&method_.values[item]);
    if (integer && !is_set_in_runs(item)) literals.items.push_back(*integer);
  }
  if (literals.items.size() == list.items.size()) {
    SCONCE_DO(writer_.count(list.items.size()));
    return writer_.add(std::move(literals));
  }
  std::vector<ValueId> items;
  for (EValueId item : list.items) {
    if (current_[item] == kNone && !is_number(method_.values[item]))
      return fail(ErrorCode::corrupt_file, "A list of integers holds value {}, which is not a number.", item);
    SCONCE_TRY(ValueId number, read(item));
    items.push_back(number);
  }
  return writer_.add_list(std::move(items));
}

Result<ValueId> MethodValues::read_tensors(const program::TensorList& list) {
  std::vector<ValueId> items;
  for (int32_t item : list.items) {
    const auto* value = item < 0 ? nullptr : &method_.values[static_cast<EValueId>(item)];
    if (!value || std::holds_alternative<program::None>(*value)) {
      items.push_back(kNone);
      continue;
    }
    if (!std::holds_alternative<TensorSpec>(*value))
      return fail(ErrorCode::corrupt_file, "A list of tensors holds value {}, which is not a tensor.", item);
    SCONCE_TRY(ValueId tensor, read(static_cast<EValueId>(item)));
    items.push_back(tensor);
  }
  return writer_.add_list(std::move(items));
}

Result<ValueId> MethodValues::read_tensor(EValueId id, const TensorSpec& spec) {
  if (spec.constant) {
    SCONCE_TRY(Value tensor, stored_tensor(spec, spec.constant, false));
    return current_[id] = writer_.add(std::move(tensor));
  }
  if (spec.place) {
    if (!holders_.contains(*spec.place)) SCONCE_DO(add_state(*spec.place));
    if (current_[id] != kNone) return current_[id];  // it is the mutable buffer itself
    return view_of(holders_[*spec.place], id, spec);
  }
  if (spec.mutable_state) {
    SCONCE_TRY(Value tensor, stored_tensor(spec, std::nullopt, true));
    return current_[id] = writer_.add(std::move(tensor));
  }
  // The exporter writes an empty tensor without a place where an operator gets None.
  if (spec.bound.numel() == 0) return current_[id] = writer_.add(Null{});
  return fail(ErrorCode::corrupt_file, "The tensor {} of bound {} is read before an instruction writes it.", id,
              spec.bound);
}

Result<void> MethodValues::add_state(program::MemoryPlace place) {
  EValueId id = first_at_.at(place);
  const auto& spec = std::get<TensorSpec>(method_.values[id]);
  SCONCE_TRY(Value tensor, stored_tensor(spec, spec.initial, true));
  bind(id, writer_.add(std::move(tensor)));
  return {};
}

Result<ValueId> MethodValues::view_of(ValueId base, EValueId id, const TensorSpec& spec) {
  const TensorValue* tensor = writer_.graph().tensor(base);
  if (!tensor || device_dtype(tensor->dtype) != device_dtype(spec.dtype) || tensor->bound.numel() != spec.bound.numel())
    return fail(ErrorCode::corrupt_file,
                "The tensor {} of bound {} is read before an instruction writes it, and it is no view of the {} at its "
                "place in memory.",
                id, spec.bound, tensor ? tensor->bound.to_string() : "value");
  if (tensor->bound == spec.bound) return current_[id] = base;
  SCONCE_TRY(Value view, run_tensor(spec));
  ValueId sizes = writer_.add(IntList{{spec.bound.begin(), spec.bound.end()}});
  ValueId result = writer_.add(std::move(view));
  SCONCE_DO(writer_.add_node({"aten.view_copy.default", {base, sizes, result}, fmt::format("view {}", id)}));
  return current_[id] = result;
}

Result<ValueId> MethodValues::write(EValueId id) {
  const program::EValue& value = method_.values[id];
  if (const auto* list = std::get_if<program::TensorList>(&value)) {
    std::vector<ValueId> items;
    for (int32_t item : list->items) {
      if (item < 0 || !std::holds_alternative<TensorSpec>(method_.values[static_cast<EValueId>(item)]))
        return fail(ErrorCode::corrupt_file, "A list of results holds value {}, which is not a tensor.", item);
      SCONCE_TRY(ValueId tensor, write(static_cast<EValueId>(item)));
      items.push_back(tensor);
    }
    return writer_.add_list(std::move(items));
  }
  if (const auto* spec = std::get_if<TensorSpec>(&value)) {
    if (spec->constant) return fail(ErrorCode::corrupt_file, "An instruction writes the constant {}.", id);
    const TensorValue* now = current_[id] == kNone ? nullptr : writer_.graph().tensor(current_[id]);
    if (now && now->is_state) return current_[id];
    if (spec->mutable_state) return read_tensor(id, *spec);
    SCONCE_TRY(Value tensor, run_tensor(*spec));
    bind(id, writer_.add(std::move(tensor)));
    return current_[id];
  }
  if (is_number(value)) {
    bind(id, writer_.add(SymInt{}));
    return current_[id];
  }
  return fail(ErrorCode::corrupt_file, "An instruction writes value {}, which is neither a tensor nor a number.", id);
}

}  // namespace sconce::graph
