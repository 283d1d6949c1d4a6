#include "ops/call.h"

#include <algorithm>
#include <cmath>

namespace sconce::ops {

using graph::Value;
using graph::ValueId;

const Value* Call::value(size_t i) const {
  if (i >= count()) return nullptr;
  ValueId id = node_.args[i];
  return id < graph_.values.size() ? &graph_.values[id] : nullptr;
}

bool Call::is_null(size_t i) const {
  const Value* v = value(i);
  return v == nullptr || std::holds_alternative<graph::Null>(*v);
}

bool Call::is_tensor(size_t i) const {
  const Value* v = value(i);
  return v != nullptr && std::holds_alternative<graph::TensorValue>(*v);
}

std::unexpected<Error> Call::wrong_kind(size_t i, const char* expected) const {
  const Value* v = value(i);
  return fail(ErrorCode::unsupported, "Argument {} is a {} where {} needs a {}.", i,
              v == nullptr ? "missing value" : graph::kind_of(*v), node_.op, expected);
}

TensorArg Call::tensor_arg(ValueId id, const graph::TensorValue& tensor) const {
  return {id, tensor.dtype, live_.shapes[id], tensor.bound};
}

Result<TensorArg> Call::tensor(size_t i) const {
  const Value* v = value(i);
  const auto* tensor = v ? std::get_if<graph::TensorValue>(v) : nullptr;
  if (!tensor) return wrong_kind(i, "tensor");
  return tensor_arg(node_.args[i], *tensor);
}

Result<TensorArg> Call::tensor(size_t i, Dtype dtype) const {
  SCONCE_TRY(TensorArg tensor, this->tensor(i));
  // The GPU holds an i64 as an i32 and an f64 as an f32, so kernels cannot tell them apart.
  bool same = tensor.dtype == dtype || (dtype == Dtype::i32 && tensor.dtype == Dtype::i64) ||
              (dtype == Dtype::f32 && tensor.dtype == Dtype::f64);
  if (!same)
    return fail(ErrorCode::unsupported, "Argument {} is a tensor of {} where {} needs {}.", i, tensor.dtype, node_.op,
                dtype);
  return tensor;
}

Result<std::optional<TensorArg>> Call::optional_tensor(size_t i, Dtype dtype) const {
  if (is_null(i)) return std::nullopt;
  SCONCE_TRY(TensorArg tensor, this->tensor(i, dtype));
  return tensor;
}

Result<std::vector<std::optional<TensorArg>>> Call::optional_tensors(size_t i) const {
  const Value* v = value(i);
  const auto* list = v ? std::get_if<graph::ValueList>(v) : nullptr;
  if (!list) return wrong_kind(i, "list of tensors");
  std::vector<std::optional<TensorArg>> result;
  for (ValueId id : list->items) {
    const graph::TensorValue* tensor = graph_.tensor(id);
    const bool absent =
        id == graph::kNone || (id < graph_.values.size() && std::holds_alternative<graph::Null>(graph_.values[id]));
    if (!tensor && !absent) return wrong_kind(i, "list of tensors");
    result.push_back(tensor ? std::optional(tensor_arg(id, *tensor)) : std::nullopt);
  }
  return result;
}

Result<std::vector<TensorArg>> Call::tensors(size_t i) const {
  if (is_tensor(i)) {
    SCONCE_TRY(TensorArg only, tensor(i));
    return std::vector{only};
  }
  SCONCE_TRY(auto all, optional_tensors(i));
  std::vector<TensorArg> result;
  for (auto& tensor : all) {
    if (!tensor) return wrong_kind(i, "list of tensors without gaps");
    result.push_back(*tensor);
  }
  return result;
}

Result<double> Call::scalar(size_t i, const Value* v, ValueId id) const {
  if (v == nullptr) return wrong_kind(i, "number");
  if (const auto* integer = std::get_if<int64_t>(v)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(v)) return *real;
  if (const auto* flag = std::get_if<bool>(v)) return *flag ? 1.0 : 0.0;
  if (std::holds_alternative<graph::SymInt>(*v)) {
    if (!live_.known[id])
      return fail(ErrorCode::invalid_argument, "Argument {} of {} is a SymInt that has no value yet.", i, node_.op);
    return static_cast<double>(live_.symints[id]);
  }
  return wrong_kind(i, "number");
}

Result<double> Call::number(size_t i) const {
  return scalar(i, value(i), i < count() ? node_.args[i] : graph::kNone);
}

Result<double> Call::number_or(size_t i, double fallback) const {
  if (is_null(i)) return fallback;
  return number(i);
}

Result<int64_t> Call::integer(size_t i) const {
  // An Int beyond 2^53 (the exporter writes INT64_MAX for "to the end") must not pass through a double.
  if (const Value* v = value(i); v != nullptr)
    if (const auto* integer = std::get_if<int64_t>(v)) return *integer;
  SCONCE_TRY(double number, this->number(i));
  if (number != std::floor(number) || std::abs(number) > 9.0e18)
    return fail(ErrorCode::invalid_argument, "Argument {} of {} is {} where an integer is needed.", i, node_.op,
                number);
  return static_cast<int64_t>(number);
}

Result<LiveInteger> Call::live_integer(size_t i) const {
  LiveInteger live;
  SCONCE_TRY(live.value, integer(i));
  const Value* v = value(i);
  if (std::holds_alternative<graph::SymInt>(*v)) live.entry = constants_.live_entry(node_.args[i]);
  if (live.entry != 0) {
    live.symint = node_.args[i];
  } else {
    live.addend = static_cast<uint32_t>(live.value);
  }
  return live;
}

Result<int64_t> Call::integer_or(size_t i, int64_t fallback) const {
  if (is_null(i)) return fallback;
  return integer(i);
}

Result<bool> Call::flag(size_t i) const {
  SCONCE_TRY(double number, this->number(i));
  return number != 0.0;
}

Result<bool> Call::flag_or(size_t i, bool fallback) const {
  if (is_null(i)) return fallback;
  return flag(i);
}

Result<std::string_view> Call::text(size_t i) const {
  const Value* v = value(i);
  if (const auto* text = v ? std::get_if<std::string>(v) : nullptr) return std::string_view(*text);
  return wrong_kind(i, "string");
}

Result<std::vector<int64_t>> Call::integers(size_t i) const {
  if (is_null(i)) return std::vector<int64_t>{};
  const Value* v = value(i);
  if (const auto* list = std::get_if<graph::IntList>(v)) return list->items;
  std::vector<int64_t> result;
  if (const auto* list = std::get_if<graph::ValueList>(v)) {
    for (ValueId id : list->items) {
      const Value* item = id < graph_.values.size() ? &graph_.values[id] : nullptr;
      SCONCE_TRY(double number, scalar(i, item, id));
      result.push_back(static_cast<int64_t>(number));
    }
    return result;
  }
  SCONCE_TRY(int64_t single, integer(i));
  result.push_back(single);
  return result;
}

Result<std::vector<double>> Call::numbers(size_t i) const {
  if (const Value* v = value(i); v != nullptr)
    if (const auto* list = std::get_if<graph::RealList>(v)) return list->items;
  if (const Value* v = value(i); v != nullptr && std::holds_alternative<double>(*v))
    return std::vector<double>{std::get<double>(*v)};
  SCONCE_TRY(auto whole, integers(i));
  return std::vector<double>(whole.begin(), whole.end());
}

bool Call::is_constant(size_t i) const {
  auto constant = [&](ValueId id) {
    const graph::TensorValue* tensor = graph_.tensor(id);
    return tensor != nullptr && tensor->constant && !tensor->is_state;
  };
  const Value* v = value(i);
  if (v == nullptr) return false;
  const auto* list = std::get_if<graph::ValueList>(v);
  return list ? !list->items.empty() && std::ranges::all_of(list->items, constant) : constant(node_.args[i]);
}

Result<std::span<const ConstantPart>> Call::constant_parts(size_t i, Packing packing) const {
  if (!is_constant(i))
    return fail(ErrorCode::unsupported, "Argument {} of {} must be a constant, but it is computed in the run.", i,
                node_.op);
  return constants_.parts(node_.args[i], packing);
}

Result<Operand> Call::constant(size_t i, Packing packing) const {
  SCONCE_TRY(auto parts, constant_parts(i, packing));
  if (parts.size() != 1)
    return fail(ErrorCode::unsupported,
                "The constant of argument {} takes more than one binding of {} bytes, and {} handles only one.", i,
                capabilities_.max_storage_binding_bytes, node_.op);
  return parts[0].data;
}

Result<std::vector<ConstantPart>> Call::row_parts(size_t i) const {
  SCONCE_TRY(TensorArg whole, tensor(i));
  if (!is_constant(i))
    return std::vector<ConstantPart>{{whole, 0, whole.shape.empty() ? 1u : static_cast<uint32_t>(whole.shape[0])}};
  SCONCE_TRY(auto parts, constant_parts(i, Packing::raw));
  return std::vector<ConstantPart>(parts.begin(), parts.end());
}

std::optional<std::vector<int64_t>> Call::host_integers(size_t i) const {
  const Value* v = value(i);
  if (v == nullptr || !std::holds_alternative<graph::TensorValue>(*v)) return std::nullopt;
  return constants_.host_integers(node_.args[i]);
}

Dtype Call::output_dtype(size_t i) const {
  std::vector<ValueId> outputs = graph::outputs_of(graph_, node_);
  const graph::TensorValue* tensor = i < outputs.size() ? graph_.tensor(outputs[i]) : nullptr;
  return tensor ? tensor->dtype : Dtype::f32;
}

}  // namespace sconce::ops
