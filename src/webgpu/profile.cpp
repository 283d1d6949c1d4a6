#include "webgpu/profile.h"

#include "webgpu/gpu.h"

namespace sconce::webgpu {

DispatchTimer::Batch DispatchTimer::make_batch() {
  const Api& api = gpu_.api();
  WGPUQuerySetDescriptor queries = WGPU_QUERY_SET_DESCRIPTOR_INIT;
  queries.type = WGPUQueryType_Timestamp, queries.count = kQueries;
  WGPUBufferDescriptor buffer = WGPU_BUFFER_DESCRIPTOR_INIT;
  buffer.size = kQueries * sizeof(uint64_t);
  Batch batch;
  batch.queries = {api.DeviceCreateQuerySet(gpu_.device(), &queries), api.QuerySetRelease};
  buffer.usage = WGPUBufferUsage_QueryResolve | WGPUBufferUsage_CopySrc;
  batch.resolved = {api.DeviceCreateBuffer(gpu_.device(), &buffer), api.BufferRelease};
  buffer.usage = WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst;
  batch.readable = {api.DeviceCreateBuffer(gpu_.device(), &buffer), api.BufferRelease};
  return batch;
}

WGPUPassTimestampWrites DispatchTimer::next(const record::Command& command) {
  if (batches_.empty() || batches_.back().is_resolved || batches_.back().dispatches.size() == kQueries / 2)
    batches_.push_back(make_batch());
  Batch& batch = batches_.back();
  WGPUPassTimestampWrites writes = WGPU_PASS_TIMESTAMP_WRITES_INIT;
  writes.querySet = batch.queries.get();
  writes.beginningOfPassWriteIndex = static_cast<uint32_t>(2 * batch.dispatches.size());
  writes.endOfPassWriteIndex = writes.beginningOfPassWriteIndex + 1;
  batch.dispatches.push_back({.node = command.node, .pipeline = command.pipeline});
  return writes;
}

void DispatchTimer::resolve(WGPUCommandEncoder encoder) {
  for (Batch& batch : batches_) {
    if (batch.is_resolved) continue;
    batch.is_resolved = true;
    auto count = static_cast<uint32_t>(2 * batch.dispatches.size());
    gpu_.api().CommandEncoderResolveQuerySet(encoder, batch.queries.get(), 0, count, batch.resolved.get(), 0);
    gpu_.api().CommandEncoderCopyBufferToBuffer(encoder, batch.resolved.get(), 0, batch.readable.get(), 0,
                                                count * sizeof(uint64_t));
  }
}

Result<void> DispatchTimer::read(Batch& batch) {
  const Api& api = gpu_.api();
  size_t bytes = 2 * batch.dispatches.size() * sizeof(uint64_t);
  WGPUBufferMapCallbackInfo callback = WGPU_BUFFER_MAP_CALLBACK_INFO_INIT;
  callback.mode = WGPUCallbackMode_WaitAnyOnly;
  callback.callback = [](WGPUMapAsyncStatus, WGPUStringView, void*, void*) {};
  SCONCE_DO(gpu_.wait(api.BufferMapAsync(batch.readable.get(), WGPUMapMode_Read, 0, bytes, callback)));
  auto times = static_cast<const uint64_t*>(api.BufferGetConstMappedRange(batch.readable.get(), 0, bytes));
  if (!times)
    return fail(ErrorCode::internal, "WebGPU does not map the timestamps of {} dispatches.", batch.dispatches.size());
  for (size_t i = 0; i < batch.dispatches.size(); ++i) {
    batch.dispatches[i].start_ns = times[2 * i];
    batch.dispatches[i].nanoseconds = times[2 * i + 1] > times[2 * i] ? times[2 * i + 1] - times[2 * i] : 0;
  }
  return {};
}

Result<std::vector<DispatchTime>> DispatchTimer::collect() {
  std::vector<DispatchTime> times;
  for (Batch& batch : batches_) {
    SCONCE_DO(read(batch));
    times.insert(times.end(), batch.dispatches.begin(), batch.dispatches.end());
  }
  batches_.clear();
  return times;
}

}  // namespace sconce::webgpu
