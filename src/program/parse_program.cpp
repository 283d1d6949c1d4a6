#include <algorithm>

#include "program/constants.h"
#include "program/parse.h"

namespace sconce::program {
namespace {

namespace wire = sconce::wire::pte;

// The backend whose blobs are a graph of operators. Upstream's Vulkan and WebGPU delegates share it.
constexpr const char* kGraphBackend = "VulkanBackend";

template <typename T>
Result<T> within(Result<T> result, const char* what, size_t index) {
  if (!result) return std::unexpected(std::move(result).error().within(fmt::format("{} {}", what, index)));
  return result;
}

Result<Dtype> dtype_from(wire::ScalarType type) {
  switch (type) {
    case wire::ScalarType::BYTE:
      return Dtype::u8;
    case wire::ScalarType::CHAR:
      return Dtype::i8;
    case wire::ScalarType::INT:
      return Dtype::i32;
    case wire::ScalarType::LONG:
      return Dtype::i64;
    case wire::ScalarType::HALF:
      return Dtype::f16;
    case wire::ScalarType::FLOAT:
      return Dtype::f32;
    case wire::ScalarType::DOUBLE:
      return Dtype::f64;
    case wire::ScalarType::BOOL:
      return Dtype::boolean;
    default:
      break;
  }
  return fail(ErrorCode::unsupported,
              "A tensor has elements of torch's ScalarType {}; Sconce reads float, half, double, int8, uint8, int32, "
              "int64 and bool.",
              static_cast<int>(type));
}

Result<std::vector<uint8_t>> read_dim_order(const wire::Tensor& tensor, size_t rank, ItemBudget& budget) {
  SCONCE_TRY(auto order, numbers<uint8_t>(tensor.dim_order(), budget));
  std::vector<uint8_t> sorted = order;
  std::ranges::sort(sorted);
  bool permutation = sorted.size() == rank;
  for (size_t i = 0; permutation && i < rank; ++i) permutation = sorted[i] == i;
  if (!permutation)
    return fail(ErrorCode::corrupt_file, "The dim order [{}] does not permute {} dims.", fmt::join(order, ", "), rank);
  return order;
}

// Finds the bytes of a constant, or of a mutable buffer's first contents.
Result<void> place_bytes(const wire::Tensor& tensor, const ConstantTable& table, TensorSpec& spec) {
  const auto* allocation = tensor.allocation_info();
  const auto* extra = tensor.extra_tensor_info();
  uint64_t size = spec.bound.numel() * size_of(spec.dtype);
  bool external = extra && extra->location() == wire::TensorDataLocation::EXTERNAL;
  bool has_name = extra && count(extra->fully_qualified_name()) > 0;
  bool has_bytes = external || tensor.data_buffer_idx() > 0;

  if (allocation)
    spec.place = MemoryPlace{allocation->memory_id(),
                             uint64_t{allocation->memory_offset_high()} << 32 | allocation->memory_offset_low()};
  if (has_bytes) {
    auto find = [&]() -> Result<Constant> {
      if (external) return find_named(table.named_data(), text(extra->fully_qualified_name()), size);
      if (!allocation) return table.constant(tensor.data_buffer_idx(), size);
      return table.first_contents(extra ? extra->mutable_data_segments_idx() : 0, tensor.data_buffer_idx(), size);
    };
    SCONCE_TRY((allocation ? spec.initial : spec.constant), find());
  }
  spec.mutable_state = spec.initial.has_value() || (has_name && !has_bytes);
  return {};
}

Result<TensorSpec> read_tensor(const wire::Tensor& tensor, const ConstantTable& table, ItemBudget& budget) {
  if (tensor.storage_offset() != 0)
    return fail(ErrorCode::unsupported, "A tensor starts {} elements into its storage; Sconce reads offset 0 only.",
                tensor.storage_offset());
  if (tensor.shape_dynamism() == wire::TensorShapeDynamism::DYNAMIC_UNBOUND)
    return fail(ErrorCode::unsupported, "A tensor's shape has no upper bound; give every dynamic dim a max on export.");
  TensorSpec spec;
  SCONCE_TRY(spec.dtype, dtype_from(tensor.scalar_type()));
  SCONCE_TRY(auto sizes, numbers<int64_t>(tensor.sizes(), budget));
  SCONCE_TRY(spec.bound, Shape::from(sizes));
  SCONCE_TRY(spec.dim_order, read_dim_order(tensor, spec.bound.rank(), budget));
  spec.dynamic = tensor.shape_dynamism() != wire::TensorShapeDynamism::STATIC;
  SCONCE_DO(place_bytes(tensor, table, spec));
  return spec;
}

// Ids of an optional tensor list; -1 is None.
Result<TensorList> read_optional_tensors(const flatbuffers::Vector<int32_t>* items, size_t how_many,
                                         ItemBudget& budget) {
  SCONCE_TRY(auto ids, numbers<int32_t>(items, budget));
  for (int32_t id : ids)
    if (id != -1) SCONCE_DO(checked_index(id, how_many, "value"));
  return TensorList{std::move(ids)};
}

Result<EValue> read_value(const wire::EValue& value, size_t how_many, const ConstantTable& table, ItemBudget& budget) {
  if (!value.val()) return EValue(None{});
  switch (value.val_type()) {
    case wire::KernelTypes::NONE:
    case wire::KernelTypes::Null:
      return EValue(None{});
    case wire::KernelTypes::Int:
      return EValue(value.val_as_Int()->int_val());
    case wire::KernelTypes::Bool:
      return EValue(value.val_as_Bool()->bool_val());
    case wire::KernelTypes::Double:
      return EValue(value.val_as_Double()->double_val());
    case wire::KernelTypes::String: {
      SCONCE_DO(budget.take(count(value.val_as_String()->string_val())));
      return EValue(text(value.val_as_String()->string_val()));
    }
    case wire::KernelTypes::Tensor:
      return read_tensor(*value.val_as_Tensor(), table, budget);
    case wire::KernelTypes::IntList: {
      SCONCE_TRY(auto ids, checked_indices(value.val_as_IntList()->items(), how_many, "value", budget));
      return EValue(IntList{std::move(ids)});
    }
    case wire::KernelTypes::DoubleList: {
      SCONCE_TRY(auto items, numbers<double>(value.val_as_DoubleList()->items(), budget));
      return EValue(RealList{std::move(items)});
    }
    case wire::KernelTypes::BoolList: {
      SCONCE_TRY(auto items, numbers<bool>(value.val_as_BoolList()->items(), budget));
      return EValue(BoolList{std::move(items)});
    }
    case wire::KernelTypes::TensorList: {
      SCONCE_TRY(auto list, read_optional_tensors(value.val_as_TensorList()->items(), how_many, budget));
      return EValue(std::move(list));
    }
    case wire::KernelTypes::OptionalTensorList: {
      SCONCE_TRY(auto list, read_optional_tensors(value.val_as_OptionalTensorList()->items(), how_many, budget));
      return EValue(std::move(list));
    }
  }
  return fail(ErrorCode::unsupported, "The value is of kind {}, which this version of Sconce does not know.",
              static_cast<int>(value.val_type()));
}

Result<Instruction> read_instruction(const wire::Instruction& instruction, const wire::ExecutionPlan& plan,
                                     size_t instructions, ItemBudget& budget) {
  size_t values = count(plan.values());
  if (!instruction.instr_args()) return fail(ErrorCode::corrupt_file, "The instruction is empty.");
  switch (instruction.instr_args_type()) {
    case wire::InstructionArguments::KernelCall: {
      const auto* call = instruction.instr_args_as_KernelCall();
      SCONCE_TRY(uint32_t index, checked_index(call->op_index(), count(plan.operators()), "operator"));
      SCONCE_TRY(auto args, checked_indices(call->args(), values, "value", budget));
      const auto* op = plan.operators()->Get(index);
      SCONCE_DO(budget.take(uint64_t{count(op->name())} + count(op->overload())));
      return Instruction(KernelCall{text(op->name()), text(op->overload()), std::move(args)});
    }
    case wire::InstructionArguments::DelegateCall: {
      const auto* call = instruction.instr_args_as_DelegateCall();
      SCONCE_TRY(uint32_t delegate, checked_index(call->delegate_index(), count(plan.delegates()), "delegate"));
      SCONCE_TRY(auto args, checked_indices(call->args(), values, "value", budget));
      return Instruction(DelegateCall{delegate, std::move(args)});
    }
    case wire::InstructionArguments::MoveCall: {
      const auto* call = instruction.instr_args_as_MoveCall();
      SCONCE_TRY(uint32_t from, checked_index(call->move_from(), values, "value"));
      SCONCE_TRY(uint32_t to, checked_index(call->move_to(), values, "value"));
      return Instruction(MoveCall{from, to});
    }
    case wire::InstructionArguments::JumpFalseCall: {
      const auto* call = instruction.instr_args_as_JumpFalseCall();
      SCONCE_TRY(uint32_t condition, checked_index(call->cond_value_index(), values, "value"));
      SCONCE_TRY(uint32_t target, checked_index(call->destination_instruction(), instructions + 1, "instruction"));
      return Instruction(JumpIfFalse{condition, target});
    }
    case wire::InstructionArguments::FreeCall: {
      SCONCE_TRY(uint32_t value, checked_index(instruction.instr_args_as_FreeCall()->value_index(), values, "value"));
      return Instruction(FreeCall{value});
    }
    case wire::InstructionArguments::NONE:
      break;
  }
  return fail(ErrorCode::unsupported, "The instruction is of kind {}, which this version of Sconce does not know.",
              static_cast<int>(instruction.instr_args_type()));
}

Result<Method> read_method(const wire::ExecutionPlan& plan, const ConstantTable& table, ItemBudget& budget) {
  Method method;
  method.name = text(plan.name());
  size_t values = count(plan.values());
  SCONCE_DO(budget.take(values));
  for (uint32_t i = 0; i < values; ++i) {
    SCONCE_TRY(auto value, within(read_value(*plan.values()->Get(i), values, table, budget), "value", i));
    method.values.push_back(std::move(value));
  }
  SCONCE_TRY(method.inputs, checked_indices(plan.inputs(), values, "value", budget));
  SCONCE_TRY(method.outputs, checked_indices(plan.outputs(), values, "value", budget));

  // One chain is all that exporters write; more of them would run one after the other.
  if (count(plan.chains()) > 1) return fail(ErrorCode::unsupported, "The method has {} chains.", count(plan.chains()));
  const auto* instructions = count(plan.chains()) == 1 ? plan.chains()->Get(0)->instructions() : nullptr;
  SCONCE_DO(budget.take(count(instructions)));
  for (uint32_t i = 0; i < count(instructions); ++i) {
    auto instruction = read_instruction(*instructions->Get(i), plan, count(instructions), budget);
    SCONCE_TRY(auto checked, within(std::move(instruction), "instruction", i));
    method.instructions.push_back(std::move(checked));
  }

  SCONCE_DO(budget.take(count(plan.delegates())));
  for (uint32_t i = 0; i < count(plan.delegates()); ++i) {
    SCONCE_DO(budget.take(count(plan.delegates()->Get(i)->id())));
    method.delegates.push_back({text(plan.delegates()->Get(i)->id()), std::nullopt});
  }
  return method;
}

}  // namespace

Result<ParsedProgram> parse_program(std::span<const std::byte> bytes, const FileLayout& layout, NamedData named_data,
                                    ItemBudget& budget) {
  SCONCE_TRY(auto flatbuffer, Flatbuffer<wire::Program>::verify(bytes, wire::ProgramIdentifier(), "program"));
  SCONCE_TRY(auto table, ConstantTable::read(flatbuffer, layout, budget, std::move(named_data)));
  ParsedProgram result;
  SCONCE_DO(budget.take(count(flatbuffer->execution_plan())));
  for (uint32_t m = 0; m < count(flatbuffer->execution_plan()); ++m) {
    const auto* plan = flatbuffer->execution_plan()->Get(m);
    auto method = read_method(*plan, table, budget);
    if (!method) return std::unexpected(std::move(method).error().within("method " + text(plan->name())));
    for (uint32_t d = 0; d < count(plan->delegates()); ++d) {
      if (method->delegates[d].backend != kGraphBackend) continue;
      SCONCE_TRY(Range data, table.delegate_data(plan->delegates()->Get(d)->processed()));
      result.blobs.push_back({m, d, data});
    }
    result.program.methods.push_back(*std::move(method));
  }
  result.program.named_data = table.named_data();
  return result;
}

}  // namespace sconce::program
