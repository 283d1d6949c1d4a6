// sconce::Model: pumps runtime::Model, whose weights come from memory-mapped files.
#include "sconce/model.h"

#include "base/math.h"
#include "program/reader.h"
#include "runtime/fill.h"
#include "webgpu/model_impl.h"

namespace sconce {
namespace {

ValueInfo describe(const graph::Graph& graph, graph::ValueId value, Dtype dtype) {
  if (const graph::TensorValue* tensor = graph.tensor(value)) return {dtype, tensor->bound, false};
  return {Dtype::i64, {}, true};
}

MethodInfo describe(const graph::Graph& graph) {
  MethodInfo info;
  info.name = graph.method;
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    info.inputs.push_back(describe(graph, graph.inputs[i], graph.input_dtypes[i]));
  for (size_t i = 0; i < graph.outputs.size(); ++i)
    info.outputs.push_back(describe(graph, graph.outputs[i], graph.output_dtypes[i]));
  return info;
}

Result<void> report(const LoadOptions& options, const LoadProgress& progress) {
  if (!options.progress || options.progress(progress)) return {};
  return fail(ErrorCode::cancelled, "Loading is cancelled at {} of {} ({}).", progress.done, progress.total,
              progress.stage);
}

// Uploads what the load Step names, straight from the mapped files.
Result<void> upload_weights(Model::Impl& impl, const LoadOptions& options) {
  uint64_t total = 0, done = 0;
  for (const record::Command& command : impl.model->load_step().commands)
    if (command.kind == record::CommandKind::upload) total += command.size;
  std::optional<runtime::ConstantFiller> filler;
  if (options.fill_weights) filler.emplace(impl.model->constants());
  auto bytes = [&](uint32_t source, uint64_t offset, uint64_t size) -> Result<std::span<const std::byte>> {
    SCONCE_DO(report(options, {"weights", done, total}));
    done += size;
    if (filler) return filler->bytes(source, offset, size);
    return impl.sources[source]->read(offset, size);
  };
  SCONCE_TRY(auto nothing, impl.replayer.submit(impl.model->load_step(), 0, bytes));
  (void)nothing;
  SCONCE_DO(impl.gpu->wait_until_idle());
  return report(options, {"weights", total, total});
}

}  // namespace

Result<Model> Model::load(Device& device, const std::string& path, const LoadOptions& options) {
  SCONCE_TRY(webgpu::ProgramFiles files, webgpu::open_program(path, options.data_files));
  runtime::ModelOptions model_options{device.gpu()->capabilities(), options.fuse, options.half_caches};
  model_options.capabilities.f16_products = options.precision == Precision::fast && model_options.capabilities.f16;
  SCONCE_TRY(auto model, runtime::Model::create(files.program, model_options));

  auto impl = std::make_shared<Impl>(device.gpu(), std::move(model), options);
  impl->sources = std::move(files.sources);
  for (const auto& [name, method] : impl->model->methods()) impl->methods.push_back(describe(method.graph));
  // Pipelines compile while weights upload.
  SCONCE_DO(impl->replayer.start(impl->model->tables()));
  SCONCE_DO(upload_weights(*impl, options));
  const uint64_t pipelines = impl->model->tables().pipelines.size();
  SCONCE_DO(report(options, {"pipelines", 0, pipelines}));
  SCONCE_DO(impl->replayer.prepare(impl->model->tables()));
  SCONCE_DO(report(options, {"pipelines", pipelines, pipelines}));
  return Model(std::move(impl));
}

Model::Model(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

const std::vector<MethodInfo>& Model::methods() const {
  return impl_->methods;
}

const MethodInfo* Model::method(std::string_view name) const {
  for (const MethodInfo& method : impl_->methods)
    if (method.name == name) return &method;
  return nullptr;
}

const std::map<std::string, std::vector<int64_t>>& Model::metadata() const {
  return impl_->model->metadata();
}
uint64_t Model::weight_bytes() const {
  return impl_->replayer.allocated_bytes();
}

}  // namespace sconce
