#include "webgpu/gpu.h"

#include "webgpu/capabilities.h"

namespace sconce::webgpu {
namespace {

ErrorCode code_of(WGPUErrorType type) {
  return type == WGPUErrorType_OutOfMemory ? ErrorCode::out_of_memory : ErrorCode::internal;
}

const char* name_of(WGPUErrorType type) {
  switch (type) {
    case WGPUErrorType_Validation:
      return "a validation error";
    case WGPUErrorType_OutOfMemory:
      return "that memory is exhausted";
    case WGPUErrorType_Internal:
      return "an internal error";
    default:
      return "an unknown error";
  }
}

// Toggles of `fast` mode: what Dawn and the shader compiler add for safety against unknown shaders. Sconce's kernels
// check their own bounds, and every buffer is written before it is read.
constexpr const char* kFastToggles[] = {"skip_validation", "disable_robustness", "disable_workgroup_init",
                                        "disable_polyfills_on_integer_div_and_mod"};
// In `checked` mode bounds checks that the compiler can prove needless are left out.
constexpr const char* kCheckedToggles[] = {"enable_integer_range_analysis_in_robustness"};
// Timestamps are rounded to 100 us against timing attacks from web pages, which would hide most kernels.
constexpr const char* kDisabledToggles[] = {"timestamp_quantization"};

dawn::TogglesDescriptor device_toggles(DeviceMode mode) {
  std::span<const char* const> enabled = kCheckedToggles;
  if (mode == DeviceMode::fast) enabled = kFastToggles;
  dawn::TogglesDescriptor toggles;
  toggles.enabled = enabled.data(), toggles.enabled_count = enabled.size();
  toggles.disabled = kDisabledToggles, toggles.disabled_count = std::size(kDisabledToggles);
  return toggles;
}

void on_lost(WGPUDevice const*, WGPUDeviceLostReason reason, WGPUStringView message, void* faults, void*) {
  if (reason == WGPUDeviceLostReason_CallbackCancelled || reason == WGPUDeviceLostReason_FailedCreation) return;
  static_cast<Faults*>(faults)->lose(message_text(message));
}

void on_error(WGPUDevice const*, WGPUErrorType type, WGPUStringView message, void* faults, void*) {
  static_cast<Faults*>(faults)->add(type, message_text(message));
}

struct RequestedDevice {
  WGPUDevice device = nullptr;
  std::string message;
};

void on_device(WGPURequestDeviceStatus, WGPUDevice device, WGPUStringView message, void* to, void*) {
  *static_cast<RequestedDevice*>(to) = {device, message_text(message)};
}

}  // namespace

// ---- faults ----

void Faults::lose(std::string reason) {
  std::lock_guard lock(mutex_);
  if (!lost_) lost_ = reason.empty() ? "no reason is given" : std::move(reason);
}

void Faults::add(WGPUErrorType type, std::string message) {
  std::lock_guard lock(mutex_);
  if (!error_) error_ = Error{code_of(type), fmt::format("WebGPU reports {}: {}", name_of(type), message), {}};
}

Result<void> Faults::take() {
  std::lock_guard lock(mutex_);
  if (lost_)
    return fail(ErrorCode::device_lost, "The GPU device is lost ({}). Open a device again and load the model into it.",
                *lost_);
  if (!error_) return {};
  Error error = *std::move(error_);
  error_.reset();
  return std::unexpected(std::move(error));
}

// ---- opening ----

Result<std::shared_ptr<Gpu>> Gpu::open(const DeviceOptions& options, std::span<const record::KernelInfo> kernels) {
  SCONCE_TRY(Library library, load_library(options.webgpu_function));
  SCONCE_TRY(std::vector<Adapter> adapters, find_adapters(library, !options.adapter.empty()));
  std::vector<AdapterInfo> infos;
  for (const Adapter& adapter : adapters) infos.push_back(adapter.info);
  SCONCE_TRY(size_t chosen, choose_adapter(infos, options.adapter));
  std::shared_ptr<Gpu> gpu(new Gpu(std::move(library), std::move(adapters[chosen]), options));
  SCONCE_DO(gpu->request_device(options));
  gpu->pipelines_ = std::make_unique<PipelineCache>(*gpu, kernels);
  return gpu;
}

Gpu::Gpu(Library library, Adapter adapter, const DeviceOptions& options)
    : library_(std::move(library)), adapter_(std::move(adapter)), mode_(options.mode) {
  capabilities_ = capabilities_of(library_, adapter_, options.lowered);
  if (options.cache) blobs_ = BlobCache::open(options.cache_dir, adapter_.info);
}

Gpu::~Gpu() {
  pipelines_.reset();
  queue_.reset();
  // Destroyed, not only released: nothing of Dawn's may call into `faults_` or `blobs_` after this.
  if (device_) destroy();
  device_.reset();
  api().InstanceProcessEvents(adapter_.instance->get());
}

Result<void> Gpu::request_device(const DeviceOptions& options) {
  std::vector<WGPUFeatureName> features = features_to_request(api(), adapter_, capabilities_);
  WGPULimits limits = limits_to_request(api(), adapter_, capabilities_);
  dawn::TogglesDescriptor toggles = device_toggles(mode_);
  dawn::CacheDescriptor cache;
  if (blobs_) {
    cache = blobs_->descriptor();
    toggles.chain.next = &cache.chain;
  }
  WGPUDeviceDescriptor descriptor = WGPU_DEVICE_DESCRIPTOR_INIT;
  descriptor.label = view("sconce");
  descriptor.requiredFeatureCount = features.size(), descriptor.requiredFeatures = features.data();
  descriptor.requiredLimits = &limits;
  descriptor.deviceLostCallbackInfo = {nullptr, WGPUCallbackMode_AllowSpontaneous, on_lost, faults_.get(), nullptr};
  descriptor.uncapturedErrorCallbackInfo = {nullptr, on_error, faults_.get(), nullptr};

  RequestedDevice requested;
  WGPURequestDeviceCallbackInfo callback = {nullptr, WGPUCallbackMode_WaitAnyOnly, on_device, &requested, nullptr};
  for (WGPUChainedStruct* chain : {&toggles.chain, static_cast<WGPUChainedStruct*>(nullptr)}) {
    descriptor.nextInChain = chain;
    WGPUFutureWaitInfo wait = {api().AdapterRequestDevice(adapter_.adapter.get(), &descriptor, callback), false};
    api().InstanceWaitAny(adapter_.instance->get(), 1, &wait, UINT64_MAX);
    if (requested.device) break;
  }
  if (!requested.device)
    return fail(ErrorCode::not_found, "The adapter {} gives no device: {}.", adapter_.info.name, requested.message);
  device_ = {requested.device, api().DeviceRelease};
  queue_ = {api().DeviceGetQueue(device()), api().QueueRelease};
  return {};
}

// ---- waiting ----

Result<bool> Gpu::wait(WGPUFuture future, uint64_t timeout_ns) {
  WGPUFutureWaitInfo info = {future, false};
  WGPUWaitStatus status = api().InstanceWaitAny(adapter_.instance->get(), 1, &info, timeout_ns);
  SCONCE_DO(check());
  if (status == WGPUWaitStatus_Error) return fail(ErrorCode::internal, "WebGPU refuses to wait for its own future.");
  return status == WGPUWaitStatus_Success;
}

Result<void> Gpu::wait(WGPUFuture future) {
  SCONCE_DO(wait(future, UINT64_MAX));
  return {};
}

Result<void> Gpu::wait_until_idle() {
  WGPUQueueWorkDoneCallbackInfo callback = WGPU_QUEUE_WORK_DONE_CALLBACK_INFO_INIT;
  callback.mode = WGPUCallbackMode_WaitAnyOnly;
  callback.callback = [](WGPUQueueWorkDoneStatus, WGPUStringView, void*, void*) {};
  return wait(api().QueueOnSubmittedWorkDone(queue(), callback));
}

// ---- error scopes ----

constexpr WGPUErrorFilter kFilters[] = {WGPUErrorFilter_Validation, WGPUErrorFilter_OutOfMemory,
                                        WGPUErrorFilter_Internal};

ErrorScope::ErrorScope(Gpu& gpu) : gpu_(gpu) {
  for (WGPUErrorFilter filter : kFilters) gpu.api().DevicePushErrorScope(gpu.device(), filter);
}

ErrorScope::~ErrorScope() {
  if (open_) (void)finish("");
}

Result<void> ErrorScope::finish(std::string_view doing) {
  open_ = false;
  Error error;
  bool failed = false;
  auto on_popped = [](WGPUPopErrorScopeStatus status, WGPUErrorType type, WGPUStringView message, void* to,
                      void* flag) {
    if (status != WGPUPopErrorScopeStatus_Success || type == WGPUErrorType_NoError) return;
    *static_cast<bool*>(flag) = true;
    *static_cast<Error*>(to) = Error{code_of(type), message_text(message), {}};
  };
  Result<void> waited;
  for (size_t i = 0; i < std::size(kFilters); ++i) {
    WGPUPopErrorScopeCallbackInfo callback = {nullptr, WGPUCallbackMode_WaitAnyOnly, on_popped, &error, &failed};
    auto done = gpu_.wait(gpu_.api().DevicePopErrorScope(gpu_.device(), callback));
    if (waited) waited = std::move(done);
  }
  SCONCE_DO(std::move(waited));
  if (!failed) return {};
  return fail(error.code, "WebGPU fails at {}: {}", doing, error.message);
}

}  // namespace sconce::webgpu
