// Writes .pte files and delegate blobs by hand, so that tests can make one part of them wrong or unusual.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "program/blob_generated.h"
#include "program/pte_generated.h"

namespace sconce::test {

// A program without extended header and segments, as old exporters wrote it. Its method calls aten::relu.out on value
// 0, a tensor, which is input, output and out tensor unless a test says otherwise.
struct PteParts {
  wire::pte::ScalarType dtype = wire::pte::ScalarType::FLOAT;
  std::vector<int32_t> sizes = {2, 2};
  std::vector<uint8_t> dim_order = {0, 1};
  int32_t storage_offset = 0;
  uint32_t buffer = 0;  // 1 is `constant`
  wire::pte::TensorShapeDynamism dynamism = wire::pte::TensorShapeDynamism::STATIC;
  std::vector<uint8_t> constant = std::vector<uint8_t>(16, 7);
  std::vector<int32_t> args = {0, 0, 0};
  std::vector<int32_t> outputs = {0};
  int32_t op = 0;
  size_t calls = 1;  // they share one vector of arguments

  std::vector<std::byte> file() const {
    using namespace wire::pte;
    flatbuffers::FlatBufferBuilder builder;
    auto tensor = CreateTensorDirect(builder, dtype, storage_offset, &sizes, &dim_order, buffer, 0, dynamism);
    std::vector values = {CreateEValue(builder, KernelTypes::Tensor, tensor.Union())};
    auto shared_args = builder.CreateVector(args);
    std::vector<flatbuffers::Offset<Instruction>> instructions;
    for (size_t i = 0; i < calls; ++i)
      instructions.push_back(CreateInstruction(builder, InstructionArguments::KernelCall,
                                               CreateKernelCall(builder, op, shared_args).Union()));
    std::vector chains = {CreateChainDirect(builder, &instructions)};
    std::vector operators = {CreateOperatorDirect(builder, "aten::relu", "out")};
    const std::vector<int32_t> inputs;
    std::vector plans = {
        CreateExecutionPlanDirect(builder, "forward", &values, &inputs, &outputs, &chains, &operators)};
    const std::vector<uint8_t> none;
    std::vector buffers = {CreateBufferDirect(builder, &none), CreateBufferDirect(builder, &constant)};
    FinishProgramBuffer(builder, CreateProgramDirect(builder, 0, &plans, &buffers));
    auto bytes = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
    return {bytes.begin(), bytes.end()};
  }
};

// A blob of one call, aten.relu.default(value 0) -> value 1, where value 0 is a constant of four floats.
struct BlobParts {
  uint64_t constant_offset = 0, constant_length = 16;
  const char* key = nullptr;
  int32_t constant_id = 0;
  std::vector<int32_t> args = {0, 1};
  std::vector<uint32_t> outputs = {1};
  const char* op = "aten.relu.default";
  wire::blob::DataType dtype = wire::blob::DataType::FLOAT32;
  size_t area = 16;  // bytes of inline constants

  std::vector<std::byte> flatbuffer() const {
    using namespace wire::blob;
    flatbuffers::FlatBufferBuilder builder;
    const std::vector<uint32_t> dims = {4}, inputs;
    auto value = [&](int32_t constant) {
      return CreateValue(builder, GraphTypes::Tensor, CreateTensorDirect(builder, dtype, &dims, constant).Union());
    };
    std::vector values = {value(constant_id), value(-1)};
    std::vector chain = {CreateOperatorCallDirect(builder, 5, op, &args)};
    std::vector constants = {CreateBytesDirect(builder, constant_offset, constant_length, key)};
    FinishGraphBuffer(builder, CreateGraphDirect(builder, &chain, &values, &inputs, &outputs, &constants));
    auto bytes = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
    return {bytes.begin(), bytes.end()};
  }
};

}  // namespace sconce::test
