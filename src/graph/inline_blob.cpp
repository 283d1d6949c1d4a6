#include "graph/inline_blob.h"

#include <algorithm>

#include "base/error.h"
#include "base/math.h"

namespace sconce::graph {
namespace {

using program::Blob;
using program::BlobTensor;
using program::BlobValueId;

// Maps the values of one blob to the graph's, each at its first use.
class Inliner {
 public:
  Inliner(const Blob& blob, MethodValues& method, GraphWriter& writer, std::vector<ValueId>& constants)
      : blob_(blob), method_(method), writer_(writer), constants_(constants), values_(constants) {}

  Result<void> bind_input(BlobValueId id, program::EValueId from);
  Result<void> add_call(const program::BlobCall& call, const std::string& prefix);
  Result<void> bind_output(BlobValueId id, program::EValueId to);

 private:
  Result<ValueId> value(BlobValueId id);
  Result<ValueId> list(const program::BlobValueList& list);
  // `from` as a tensor of that element type and at most that bound.
  Result<ValueId> convert(ValueId from, Dtype dtype, const Shape& bound);

  const Blob& blob_;
  MethodValues& method_;
  GraphWriter& writer_;
  std::vector<ValueId>& constants_;
  std::vector<ValueId> values_;  // by BlobValueId; kNone before the first use
};

Result<ValueId> Inliner::value(BlobValueId id) {
  if (values_[id] != kNone) return values_[id];
  const program::BlobValue& value = blob_.values[id];
  if (const auto* tensor = std::get_if<BlobTensor>(&value)) {
    Dtype dtype = tensor->constant ? tensor->dtype : device_dtype(tensor->dtype);
    values_[id] = writer_.add(TensorValue{.dtype = dtype, .bound = tensor->bound, .constant = tensor->constant});
    if (tensor->constant) constants_[id] = values_[id];
    return values_[id];
  }
  if (const auto* ids = std::get_if<program::BlobValueList>(&value)) {
    SCONCE_TRY(values_[id], list(*ids));
    return values_[id];
  }
  Value copy = Null{};
  if (const auto* v = std::get_if<int64_t>(&value)) copy = *v;
  if (const auto* v = std::get_if<double>(&value)) copy = *v;
  if (const auto* v = std::get_if<bool>(&value)) copy = *v;
  if (const auto* v = std::get_if<std::string>(&value)) copy = *v;
  if (const auto* v = std::get_if<program::BlobIntList>(&value)) copy = IntList{v->items};
  if (const auto* v = std::get_if<program::RealList>(&value)) copy = RealList{v->items};
  if (const auto* v = std::get_if<program::BoolList>(&value)) copy = BoolList{v->items};
  if (std::holds_alternative<program::BlobSymInt>(value)) copy = SymInt{};
  return values_[id] = writer_.add(std::move(copy));
}

Result<ValueId> Inliner::list(const program::BlobValueList& list) {
  std::vector<ValueId> items;
  for (BlobValueId item : list.items) {
    const program::BlobValue& value = blob_.values[item];
    if (std::holds_alternative<program::BlobValueList>(value))
      return fail(ErrorCode::corrupt_file, "A list of values holds the list {}.", item);
    if (std::holds_alternative<program::None>(value)) {
      items.push_back(kNone);
      continue;
    }
    SCONCE_TRY(ValueId id, this->value(item));
    items.push_back(id);
  }
  return writer_.add_list(std::move(items));
}

Result<ValueId> Inliner::convert(ValueId from, Dtype dtype, const Shape& bound) {
  auto* tensor = std::get_if<TensorValue>(&writer_.graph().values[from]);
  if (!tensor || tensor->bound.rank() != bound.rank())
    return fail(
        ErrorCode::corrupt_file, "The method and its delegate disagree about a value: {} and tensor of bound {}.",
        tensor ? fmt::format("tensor of bound {}", tensor->bound) : kind_of(writer_.graph().values[from]), bound);
  // Both bounds hold for the value, so the smaller one does.
  for (size_t i = 0; i < bound.rank(); ++i)
    if (!tensor->constant) tensor->bound[i] = std::min(tensor->bound[i], bound[i]);
  if (device_dtype(tensor->dtype) == device_dtype(dtype)) return from;

  // Under force_fp16 the method's f32 is the delegate's f16.
  ValueId result = writer_.add(TensorValue{.dtype = device_dtype(dtype), .bound = tensor->bound});
  ValueId none = writer_.add(Null{});
  SCONCE_DO(writer_.add_node(
      {"aten._to_copy.default", {from, none, none, none, none, none, none, result}, fmt::format("cast {}", result)}));
  return result;
}

Result<void> Inliner::bind_input(BlobValueId id, program::EValueId from) {
  SCONCE_TRY(ValueId passed, method_.read(from));
  if (const auto* tensor = std::get_if<BlobTensor>(&blob_.values[id])) {
    SCONCE_TRY(values_[id], convert(passed, tensor->dtype, tensor->bound));
    return {};
  }
  const Value& value = writer_.graph().values[passed];
  if (!std::holds_alternative<program::BlobSymInt>(blob_.values[id]) ||
      (!std::holds_alternative<SymInt>(value) && !std::holds_alternative<int64_t>(value)))
    return fail(ErrorCode::unsupported, "The delegate's input {} is passed a {}; it takes tensors and integers.", id,
                kind_of(value));
  values_[id] = passed;
  return {};
}

Result<void> Inliner::add_call(const program::BlobCall& call, const std::string& prefix) {
  BlobValueId output = call.args.back();
  if (call.name == "et_vk.prepack.default" && call.args.size() == 2) {
    if (values_[output] != kNone)
      return fail(ErrorCode::corrupt_file, "The delegate prepacks into value {}, which is in use already.", output);
    SCONCE_TRY(values_[output], value(call.args[0]));
    return {};
  }
  // The exporter writes SymInt operators whose result it knows; the result stands there as a literal.
  if (std::holds_alternative<int64_t>(blob_.values[output])) return {};

  Node node{call.name, {}, prefix + std::to_string(call.node_id)};
  node.args.reserve(call.args.size());
  for (BlobValueId id : call.args) {
    SCONCE_TRY(ValueId arg, value(id));
    node.args.push_back(arg);
  }
  return writer_.add_node(std::move(node));
}

Result<void> Inliner::bind_output(BlobValueId id, program::EValueId to) {
  SCONCE_TRY(ValueId made, value(id));
  if (const auto* spec = std::get_if<program::TensorSpec>(&method_.method().values[to])) {
    SCONCE_TRY(made, convert(made, spec->dtype, spec->bound));
  }
  method_.bind(to, made);
  return {};
}

}  // namespace

Result<void> inline_blob(const program::DelegateCall& call, const std::string& prefix, MethodValues& values,
                         GraphWriter& writer, std::vector<ValueId>& constants) {
  const Blob& blob = *values.method().delegates[call.delegate].blob;
  if (call.args.size() != blob.inputs.size() + blob.outputs.size())
    return fail(ErrorCode::corrupt_file,
                "The delegate takes {} inputs and gives {} outputs, but is called with {} values.", blob.inputs.size(),
                blob.outputs.size(), call.args.size());
  SCONCE_DO(writer.count(blob.values.size()));
  Inliner inliner(blob, values, writer, constants);
  for (size_t i = 0; i < blob.inputs.size(); ++i) SCONCE_DO(inliner.bind_input(blob.inputs[i], call.args[i]));
  for (const program::BlobCall& operator_call : blob.chain) {
    auto added = inliner.add_call(operator_call, prefix);
    if (!added)
      return std::unexpected(std::move(added).error().within(
          fmt::format("node {}{} ({})", prefix, operator_call.node_id, operator_call.name)));
  }
  for (size_t i = 0; i < blob.outputs.size(); ++i)
    SCONCE_DO(inliner.bind_output(blob.outputs[i], call.args[blob.inputs.size() + i]));
  return {};
}

}  // namespace sconce::graph
