// Fuzz target: any bytes as a delegate blob, called by a method whose values fit the blob's inputs and outputs.
#include "fuzz/fuzz.h"
#include "graph/build.h"
#include "program/parse.h"

namespace sconce {
namespace {

program::EValue value_like(const program::BlobValue& value) {
  const auto* tensor = std::get_if<program::BlobTensor>(&value);
  if (!tensor) return int64_t{0};
  program::TensorSpec spec{.dtype = tensor->dtype, .bound = tensor->bound};
  for (size_t i = 0; i < spec.bound.rank(); ++i) spec.dim_order.push_back(static_cast<uint8_t>(i));
  return spec;
}

// A method that passes its inputs to the blob and returns the blob's outputs.
program::Program program_around(program::Blob blob) {
  program::Method method{.name = "forward"};
  program::DelegateCall call;
  for (const auto* ids : {&blob.inputs, &blob.outputs}) {
    auto& to = ids == &blob.inputs ? method.inputs : method.outputs;
    for (program::BlobValueId id : *ids) {
      to.push_back(static_cast<program::EValueId>(method.values.size()));
      call.args.push_back(to.back());
      method.values.push_back(value_like(blob.values[id]));
    }
  }
  method.instructions.push_back(std::move(call));
  method.delegates.push_back({"VulkanBackend", std::move(blob)});
  program::Program program;
  program.methods.push_back(std::move(method));
  return program;
}

Result<graph::Graph> read(std::span<const std::byte> bytes) {
  const program::Range whole{0, 0, bytes.size()};
  SCONCE_TRY(auto layout, program::read_blob_head(bytes.first(std::min(bytes.size(), program::kBlobHeadSize)), whole));
  program::ItemBudget budget;
  budget.add_bytes(bytes.size());
  auto graph_bytes = bytes.subspan(layout.flatbuffer.offset, layout.flatbuffer.size);
  SCONCE_TRY(auto blob, program::parse_blob(graph_bytes, layout, {}, budget));
  return graph::build_graph(program_around(std::move(blob)), "forward");
}

}  // namespace
}  // namespace sconce

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)sconce::read(sconce::test::bytes_of(data, size));
  return 0;
}
