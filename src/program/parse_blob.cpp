#include "program/blob_generated.h"
#include "program/constants.h"
#include "program/parse.h"
#include "program/ptd_generated.h"

namespace sconce::program {
namespace {

namespace wire = sconce::wire::blob;

Result<Dtype> dtype_from(wire::DataType type) {
  switch (type) {
    case wire::DataType::BOOL:
      return Dtype::boolean;
    case wire::DataType::UINT8:
      return Dtype::u8;
    case wire::DataType::INT8:
      return Dtype::i8;
    case wire::DataType::INT32:
      return Dtype::i32;
    case wire::DataType::FLOAT16:
      return Dtype::f16;
    case wire::DataType::FLOAT32:
      return Dtype::f32;
    case wire::DataType::FLOAT64:
      return Dtype::f64;
    case wire::DataType::INT64:
      return Dtype::i64;
    case wire::DataType::UNSET:
      break;
  }
  return fail(ErrorCode::corrupt_file, "A delegate's tensor has element type {}, which the format does not define.",
              static_cast<int>(type));
}

Result<Constant> read_constant(const wire::Bytes& bytes, uint64_t size, const Range& area,
                               const NamedData& named_data) {
  if (count(bytes.named_key()) > 0) return find_named(named_data, text(bytes.named_key()), size);
  if (size > bytes.length())
    return fail(ErrorCode::corrupt_file, "An inline constant has {} bytes, but its tensor has {}.", bytes.length(),
                size);
  if (bytes.offset() > area.size || size > area.size - bytes.offset())
    return fail(ErrorCode::corrupt_file,
                "An inline constant of {} bytes at offset {} does not fit the delegate's {} bytes of constants.", size,
                bytes.offset(), area.size);
  return constant_at({area.source, area.offset + bytes.offset(), size}, size);
}

// Reads the values of one blob.
struct ValueReader {
  const Flatbuffer<wire::Graph>& graph;
  const BlobLayout& layout;
  const NamedData& named_data;
  ItemBudget& budget;

  Result<BlobTensor> tensor(const wire::Tensor& tensor) {
    BlobTensor result;
    SCONCE_TRY(result.dtype, dtype_from(tensor.datatype()));
    SCONCE_TRY(auto dims, numbers<int64_t>(tensor.dims(), budget));
    SCONCE_TRY(result.bound, Shape::from(dims));
    if (tensor.constant_id() >= 0) {
      SCONCE_TRY(uint32_t index, checked_index(tensor.constant_id(), count(graph->constants()), "constant"));
      uint64_t size = result.bound.numel() * size_of(result.dtype);
      SCONCE_TRY(result.constant, read_constant(*graph->constants()->Get(index), size, layout.constants, named_data));
    }
    return result;
  }

  template <typename List, typename Items>
  Result<BlobValue> list(const Items* items) {
    using Item = typename decltype(List::items)::value_type;
    SCONCE_TRY(auto copied, numbers<Item>(items, budget));
    return BlobValue(List{std::move(copied)});
  }

  Result<BlobValue> value(const wire::Value& value) {
    if (!value.value()) return BlobValue(None{});
    switch (value.value_type()) {
      case wire::GraphTypes::NONE:
      case wire::GraphTypes::Null:
        return BlobValue(None{});
      case wire::GraphTypes::Int:
        return BlobValue(value.value_as_Int()->int_val());
      case wire::GraphTypes::Double:
        return BlobValue(value.value_as_Double()->double_val());
      case wire::GraphTypes::Bool:
        return BlobValue(value.value_as_Bool()->bool_val());
      case wire::GraphTypes::SymInt:
        return BlobValue(BlobSymInt{});
      case wire::GraphTypes::Tensor:
        return tensor(*value.value_as_Tensor());
      case wire::GraphTypes::IntList:
        return list<BlobIntList>(value.value_as_IntList()->items());
      case wire::GraphTypes::DoubleList:
        return list<RealList>(value.value_as_DoubleList()->items());
      case wire::GraphTypes::BoolList:
        return list<BoolList>(value.value_as_BoolList()->items());
      case wire::GraphTypes::String: {
        SCONCE_DO(budget.take(count(value.value_as_String()->string_val())));
        return BlobValue(text(value.value_as_String()->string_val()));
      }
      case wire::GraphTypes::ValueList: {
        const auto* items = value.value_as_ValueList()->items();
        SCONCE_TRY(auto ids, checked_indices(items, count(graph->values()), "value", budget));
        return BlobValue(BlobValueList{std::move(ids)});
      }
    }
    return fail(ErrorCode::unsupported, "The value is of kind {}, which this version of Sconce does not know.",
                static_cast<int>(value.value_type()));
  }
};

Result<BlobCall> read_call(const wire::OperatorCall& call, size_t values, ItemBudget& budget) {
  SCONCE_DO(budget.take(count(call.name())));
  BlobCall result{call.node_id(), text(call.name()), {}};
  if (result.name.empty() || count(call.args()) == 0)
    return fail(ErrorCode::corrupt_file, "The operator call has no name or no arguments.");
  SCONCE_TRY(result.args, checked_indices(call.args(), values, "value", budget));
  return result;
}

}  // namespace

Result<Blob> parse_blob(std::span<const std::byte> bytes, const BlobLayout& layout, const NamedData& named_data,
                        ItemBudget& budget) {
  SCONCE_TRY(auto graph, Flatbuffer<wire::Graph>::verify(bytes, wire::GraphIdentifier(), "delegate's graph"));
  Blob blob;
  size_t values = count(graph->values());
  SCONCE_DO(budget.take(uint64_t{values} + count(graph->chain())));
  ValueReader reader{graph, layout, named_data, budget};
  for (uint32_t i = 0; i < values; ++i) {
    auto value = reader.value(*graph->values()->Get(i));
    if (!value) return std::unexpected(std::move(value).error().within(fmt::format("value {}", i)));
    blob.values.push_back(*std::move(value));
  }
  for (uint32_t i = 0; i < count(graph->chain()); ++i) {
    auto call = read_call(*graph->chain()->Get(i), values, budget);
    if (!call) return std::unexpected(std::move(call).error().within(fmt::format("operator call {}", i)));
    blob.chain.push_back(*std::move(call));
  }
  SCONCE_TRY(blob.inputs, checked_indices(graph->input_ids(), values, "value", budget));
  SCONCE_TRY(blob.outputs, checked_indices(graph->output_ids(), values, "value", budget));
  return blob;
}

Result<void> parse_named_data(std::span<const std::byte> bytes, const FileLayout& layout, ItemBudget& budget,
                              NamedData& named_data) {
  namespace ptd = sconce::wire::ptd;
  SCONCE_TRY(auto index, Flatbuffer<ptd::FlatTensor>::verify(bytes, ptd::FlatTensorIdentifier(), "data file's index"));
  SCONCE_TRY(auto segments, read_segments(index->segments(), layout, budget));
  return read_named_data(index->named_data(), segments, budget, named_data);
}

}  // namespace sconce::program
