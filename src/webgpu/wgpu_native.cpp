#include "webgpu/wgpu_native.h"

#include <chrono>
#include <mutex>
#include <set>
#include <thread>

namespace sconce::webgpu {
namespace {

// From wgpu.h, which comes beside wgpu-native's webgpu.h.
using DevicePoll = WGPUBool (*)(WGPUDevice, WGPUBool wait, const uint64_t* submission);

// Functions have no place for context, so there is one set of them a process.
struct Native {
  Api real;
  DevicePoll poll = nullptr;
  WGPUProcDeviceCreateComputePipeline create_compute_pipeline = nullptr;

  std::mutex mutex;
  std::set<WGPUDevice> devices;
  std::set<uint64_t> pending;  // ids of futures whose callbacks have not come
  uint64_t last = 0;
};

Native& native() {
  static Native functions;
  return functions;
}

WGPUFuture new_future() {
  std::scoped_lock lock(native().mutex);
  native().pending.insert(++native().last);
  return {native().last};
}

void finish(WGPUFuture future) {
  std::scoped_lock lock(native().mutex);
  native().pending.erase(future.id);
}

bool is_pending(WGPUFuture future) {
  std::scoped_lock lock(native().mutex);
  return native().pending.contains(future.id);
}

// The caller's callback, called by one that also finishes a future.
template <typename Info, typename... Results>
struct Finishing {
  Info info;
  WGPUFuture future;

  static void call(Results... results, void* self, void*) {
    auto* finishing = static_cast<Finishing*>(self);
    finishing->info.callback(results..., finishing->info.userdata1, finishing->info.userdata2);
    finish(finishing->future);
    delete finishing;
  }
};

// Calls `start` with such a callback.
template <typename... Results, typename Info>
WGPUFuture begin(const Info& info, auto&& start) {
  const WGPUFuture future = new_future();
  auto* finishing = new Finishing<Info, Results...>{info, future};
  start(Info{nullptr, WGPUCallbackMode_AllowProcessEvents, &Finishing<Info, Results...>::call, finishing, nullptr});
  return future;
}

// ---- functions that wgpu-native has, with futures ----

WGPUFuture request_adapter(WGPUInstance instance, const WGPURequestAdapterOptions* options,
                           WGPURequestAdapterCallbackInfo info) {
  return begin<WGPURequestAdapterStatus, WGPUAdapter, WGPUStringView>(
      info, [&](auto finishing) { native().real.InstanceRequestAdapter(instance, options, finishing); });
}

WGPUFuture request_device(WGPUAdapter adapter, const WGPUDeviceDescriptor* descriptor,
                          WGPURequestDeviceCallbackInfo info) {
  return begin<WGPURequestDeviceStatus, WGPUDevice, WGPUStringView>(
      info, [&](auto finishing) { native().real.AdapterRequestDevice(adapter, descriptor, finishing); });
}

WGPUFuture pop_error_scope(WGPUDevice device, WGPUPopErrorScopeCallbackInfo info) {
  return begin<WGPUPopErrorScopeStatus, WGPUErrorType, WGPUStringView>(
      info, [&](auto finishing) { native().real.DevicePopErrorScope(device, finishing); });
}

WGPUFuture on_submitted_work_done(WGPUQueue queue, WGPUQueueWorkDoneCallbackInfo info) {
  return begin<WGPUQueueWorkDoneStatus, WGPUStringView>(
      info, [&](auto finishing) { native().real.QueueOnSubmittedWorkDone(queue, finishing); });
}

WGPUFuture map_async(WGPUBuffer buffer, WGPUMapMode mode, size_t offset, size_t size, WGPUBufferMapCallbackInfo info) {
  return begin<WGPUMapAsyncStatus, WGPUStringView>(
      info, [&](auto finishing) { native().real.BufferMapAsync(buffer, mode, offset, size, finishing); });
}

// Polling needs the devices.
WGPUQueue get_queue(WGPUDevice device) {
  {
    std::scoped_lock lock(native().mutex);
    native().devices.insert(device);
  }
  return native().real.DeviceGetQueue(device);
}

void release_device(WGPUDevice device) {
  {
    std::scoped_lock lock(native().mutex);
    native().devices.erase(device);
  }
  native().real.DeviceRelease(device);
}

// ---- functions that it lacks ----

WGPUBool has_feature(WGPUAdapter adapter, WGPUFeatureName feature) {
  return feature != WGPUFeatureName_Subgroups && native().real.AdapterHasFeature(adapter, feature);
}

// Errors of the kind that a scope of `filter` catches; of internal ones it knows nothing, and scopes nest.
void push_error_scope(WGPUDevice device, WGPUErrorFilter filter) {
  native().real.DevicePushErrorScope(device, filter == WGPUErrorFilter_Internal ? WGPUErrorFilter_Validation : filter);
}

WGPUBool has_language_feature(WGPUInstance, WGPUWGSLLanguageFeatureName) {
  return false;
}

WGPUFuture create_pipeline_async(WGPUDevice device, const WGPUComputePipelineDescriptor* descriptor,
                                 WGPUCreateComputePipelineAsyncCallbackInfo info) {
  const Api& real = native().real;
  real.DevicePushErrorScope(device, WGPUErrorFilter_Validation);
  WGPUComputePipeline pipeline = native().create_compute_pipeline(device, descriptor);
  std::string error;
  auto on_popped = [](WGPUPopErrorScopeStatus, WGPUErrorType type, WGPUStringView message, void* to, void*) {
    if (type != WGPUErrorType_NoError) *static_cast<std::string*>(to) = text(message);
  };
  real.DevicePopErrorScope(device, {nullptr, WGPUCallbackMode_AllowSpontaneous, on_popped, &error, nullptr});
  const auto status =
      error.empty() ? WGPUCreatePipelineAsyncStatus_Success : WGPUCreatePipelineAsyncStatus_ValidationError;
  if (!error.empty()) {
    real.ComputePipelineRelease(pipeline);
    pipeline = nullptr;
  }
  info.callback(status, pipeline, view(error), info.userdata1, info.userdata2);
  return {};  // never pending
}

bool complete(size_t count, WGPUFutureWaitInfo* infos) {
  bool any = count == 0;
  for (size_t i = 0; i < count; ++i) any |= infos[i].completed = !is_pending(infos[i].future);
  return any;
}

WGPUWaitStatus wait_any(WGPUInstance instance, size_t count, WGPUFutureWaitInfo* infos, uint64_t timeout_ns) {
  using Clock = std::chrono::steady_clock;
  const bool for_ever = timeout_ns == UINT64_MAX;
  const Clock::time_point start = Clock::now();
  for (;;) {
    if (complete(count, infos)) return WGPUWaitStatus_Success;
    native().real.InstanceProcessEvents(instance);
    std::set<WGPUDevice> devices;
    {
      std::scoped_lock lock(native().mutex);
      devices = native().devices;
    }
    for (WGPUDevice device : devices) native().poll(device, for_ever, nullptr);
    if (complete(count, infos)) return WGPUWaitStatus_Success;
    if (!for_ever && Clock::now() - start >= std::chrono::nanoseconds(timeout_ns)) return WGPUWaitStatus_TimedOut;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace

bool is_wgpu_native(const FunctionLookup& lookup) {
  return lookup("wgpuDevicePoll") != nullptr;
}

Result<Api> wgpu_native_api(const FunctionLookup& lookup) {
  SCONCE_TRY(Api real, fill_api(lookup));
  native().real = real;
  native().poll = reinterpret_cast<DevicePoll>(lookup("wgpuDevicePoll"));
  native().create_compute_pipeline =
      reinterpret_cast<WGPUProcDeviceCreateComputePipeline>(lookup("wgpuDeviceCreateComputePipeline"));
  if (!native().create_compute_pipeline)
    return fail(ErrorCode::not_found, "it lacks the function wgpuDeviceCreateComputePipeline");
  Api api = real;
  api.InstanceRequestAdapter = request_adapter;
  api.InstanceHasWGSLLanguageFeature = has_language_feature;
  api.InstanceWaitAny = wait_any;
  api.AdapterHasFeature = has_feature;
  api.AdapterRequestDevice = request_device;
  api.DeviceGetQueue = get_queue;
  api.DeviceRelease = release_device;
  api.DeviceCreateComputePipelineAsync = create_pipeline_async;
  api.DevicePushErrorScope = push_error_scope;
  api.DevicePopErrorScope = pop_error_scope;
  api.QueueOnSubmittedWorkDone = on_submitted_work_done;
  api.BufferMapAsync = map_async;
  return api;
}

}  // namespace sconce::webgpu
