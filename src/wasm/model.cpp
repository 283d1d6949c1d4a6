// Loading: the host supplies the ranges that the reader asks for, then creates the model and replays its load Step.
#include <fmt/ranges.h>

#include "base/sha256.h"
#include "kernels.h"
#include "program/reader.h"
#include "runtime/convert.h"
#include "wasm/session.h"

namespace sconce::wasm {
namespace {

record::Capabilities read_limits(const DeviceLimits& limits) {
  return {.adapter_class = static_cast<AdapterClass>(limits.adapter_class),
          .f16 = limits.f16 != 0,
          .subgroups = limits.subgroups != 0,
          .subgroup_min_size = limits.subgroup_min_size,
          .subgroup_max_size = limits.subgroup_max_size,
          .packed_dot = limits.packed_dot != 0,
          .max_workgroups_per_dimension = limits.max_workgroups_per_dimension,
          .max_invocations_per_workgroup = limits.max_invocations_per_workgroup,
          .max_workgroup_storage_bytes = limits.max_workgroup_storage_bytes,
          .max_storage_buffers = limits.max_storage_buffers,
          .max_storage_binding_bytes = limits.max_storage_binding_bytes,
          .max_buffer_bytes = limits.max_buffer_bytes};
}

std::string describe(const graph::Graph& graph, std::span<const graph::ValueId> values, std::span<const Dtype> dtypes) {
  std::vector<std::string> items;
  for (size_t i = 0; i < values.size(); ++i) {
    const graph::TensorValue* tensor = graph.tensor(values[i]);
    items.push_back(fmt::format(R"({{"dtype":"{}","bound":{},"isSymInt":{}}})", tensor ? dtypes[i] : Dtype::i64,
                                tensor ? tensor->bound : Shape{}, !tensor));
  }
  return fmt::format("[{}]", fmt::join(items, ","));
}

// A name as a JSON string: methods are called by Python identifiers, but a file may say anything.
std::string quoted(std::string_view name) {
  std::string text = "\"";
  for (unsigned char c : name) {
    if (c == '"' || c == '\\' || c < 0x20) {
      text += fmt::format("\\u{:04x}", c);
    } else {
      text += static_cast<char>(c);
    }
  }
  return text + '"';
}

std::string describe(const runtime::Model& model) {
  std::vector<std::string> methods, numbers;
  for (const auto& [name, method] : model.methods()) {
    const graph::Graph& graph = method.graph;
    methods.push_back(fmt::format(R"({{"name":{},"inputs":{},"outputs":{}}})", quoted(name),
                                  describe(graph, graph.inputs, graph.input_dtypes),
                                  describe(graph, graph.outputs, graph.output_dtypes)));
  }
  for (const auto& [name, values] : model.metadata())
    numbers.push_back(fmt::format("{}:[{}]", quoted(name), fmt::join(values, ",")));
  return fmt::format(R"({{"methods":[{}],"metadata":{{{}}},"weightBytes":{}}})", fmt::join(methods, ","),
                     fmt::join(numbers, ","), model.constant_bytes());
}

}  // namespace

// ---- reading ----

// `sizes` are those of the .pte file and then of its .ptd files.
SCONCE_EXPORT(reader_create) program::Reader* reader_create(const uint64_t* sizes, uint32_t count) {
  return new program::Reader({sizes, sizes + count});
}
SCONCE_EXPORT(reader_delete) void reader_delete(program::Reader* reader) {
  delete reader;
}
// Whether the reader wants `range` next.
SCONCE_EXPORT(reader_next) bool reader_next(const program::Reader* reader, RangeView* range) {
  auto wanted = reader->next();
  if (wanted) *range = {wanted->offset, wanted->size, wanted->source, 0};
  return wanted.has_value();
}
SCONCE_EXPORT(reader_supply) uint32_t reader_supply(program::Reader* reader, const std::byte* bytes, uint32_t size) {
  return status(reader->supply({bytes, size}));
}

// ---- the model ----

// The model of what the reader has read, or 0.
SCONCE_EXPORT(model_create)
LoadedModel* model_create(program::Reader* reader, const DeviceLimits* limits, bool fuse, bool half_caches) {
  auto program = std::move(*reader).finish();
  if (!program) return give_error(program.error()), nullptr;
  auto model = runtime::Model::create(*program, {read_limits(*limits), fuse, half_caches});
  if (!model) return give_error(model.error()), nullptr;
  auto loaded = new LoadedModel{*std::move(model), {}, std::move(program->named_data), {}};
  for (const auto& [key, constant] : loaded->named_data)
    loaded->constants.push_back(
        {constant.range.offset, constant.range.size, constant.range.source, address_of(key.c_str())});
  view_step(loaded->model->tables(), loaded->model->load_step(), 0, loaded->step);
  return loaded;
}
SCONCE_EXPORT(model_delete) void model_delete(LoadedModel* model) {
  delete model;
}
// {"methods": [...], "metadata": {...}, "weightBytes": ...}.
SCONCE_EXPORT(model_describe) Address model_describe(const LoadedModel* model) {
  return give_text(describe(*model->model));
}
SCONCE_EXPORT(model_load_step) const StepView* model_load_step(const LoadedModel* model) {
  return &model->step;
}
SCONCE_EXPORT(model_constants) void model_constants(const LoadedModel* model, BytesView* constants) {
  *constants = {address_of(model->constants.data()), static_cast<uint32_t>(model->constants.size())};
}

// Converts a chunk of a constant in place (it gets shorter).
SCONCE_EXPORT(convert_upload) uint32_t convert_upload(std::byte* bytes, uint32_t size, record::Convert convert) {
  auto converted = runtime::convert_upload({bytes, size}, convert);
  if (converted) std::ranges::copy(*converted, bytes);
  return status(converted);
}

// ---- content keys ----

// The sha256 of a constant whose bytes pass through the host in pieces.
SCONCE_EXPORT(sha256_create) Sha256* sha256_create() {
  return new Sha256;
}
SCONCE_EXPORT(sha256_add) void sha256_add(Sha256* hash, const std::byte* bytes, uint32_t size) {
  hash->add({bytes, size});
}
SCONCE_EXPORT(sha256_finish) Address sha256_finish(Sha256* hash) {
  return give_text(hash->finish());
}
SCONCE_EXPORT(sha256_delete) void sha256_delete(Sha256* hash) {
  delete hash;
}

// ---- kernels ----

SCONCE_EXPORT(kernel_describe) void kernel_describe(uint32_t id, KernelView* view) {
  const record::KernelInfo& kernel = kernels::all()[id];
  *view = {static_cast<uint32_t>(kernel.bindings.size()), 0, kernel.invocations, kernel.workgroup_bytes,
           kernel.subgroups};
  for (size_t i = 0; i < kernel.bindings.size(); ++i)
    if (kernel.bindings[i].access == record::Access::write) view->writes |= 1u << i;
}
SCONCE_EXPORT(kernel_text) Address kernel_text(uint32_t id, record::Variant variant) {
  return give_text(record::kernel_text(kernels::all()[id], variant));
}
SCONCE_EXPORT(kernel_label) Address kernel_label(uint32_t id, record::Variant variant) {
  return give_text(record::kernel_label(kernels::all()[id], variant));
}

}  // namespace sconce::wasm
