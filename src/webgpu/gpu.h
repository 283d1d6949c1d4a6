// An open WebGPU device as the driver sees it, and how its errors become Results.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "record/capabilities.h"
#include "record/kernel.h"
#include "sconce/device.h"
#include "webgpu/adapters.h"
#include "webgpu/blob_cache.h"
#include "webgpu/pipeline_cache.h"

namespace sconce::webgpu {

// What WebGPU's callbacks report. They only write here, so they may come from any thread and at any time.
class Faults {
 public:
  void lose(std::string reason);
  void add(WGPUErrorType type, std::string message);
  // The reason of a lost device, on every call; else the first error since the last call.
  Result<void> take();

 private:
  std::mutex mutex_;
  std::optional<std::string> lost_;
  std::optional<Error> error_;
};

class Gpu {
 public:
  // `kernels` is the list that pipelines refer to: all of them, except in tests.
  static Result<std::shared_ptr<Gpu>> open(const DeviceOptions& options, std::span<const record::KernelInfo> kernels);
  Gpu(const Gpu&) = delete;
  ~Gpu();

  const Api& api() const { return library_.api; }
  WGPUDevice device() const { return device_.get(); }
  WGPUQueue queue() const { return queue_.get(); }
  const AdapterInfo& adapter() const { return adapter_.info; }
  DeviceMode mode() const { return mode_; }
  const record::Capabilities& capabilities() const { return capabilities_; }
  PipelineCache& pipelines() { return *pipelines_; }

  // An error when the device is lost or WebGPU has reported an error that no scope caught.
  Result<void> check() { return faults_->take(); }
  // Callbacks of `future` run inside these two. ready() does not wait.
  Result<bool> ready(WGPUFuture future) { return wait(future, 0); }
  Result<void> wait(WGPUFuture future);
  // Waits for all that was submitted or written so far.
  Result<void> wait_until_idle();
  // Ends the device as a driver's reset would: every later call says that it is lost.
  void destroy() { api().DeviceDestroy(device()); }

 private:
  Gpu(Library library, Adapter adapter, const DeviceOptions& options);
  Result<void> request_device(const DeviceOptions& options);
  Result<bool> wait(WGPUFuture future, uint64_t timeout_ns);

  Library library_;
  Adapter adapter_;
  DeviceMode mode_;
  record::Capabilities capabilities_;
  std::unique_ptr<Faults> faults_ = std::make_unique<Faults>();
  std::unique_ptr<BlobCache> blobs_;
  Handle<WGPUDevice> device_;
  Handle<WGPUQueue> queue_;
  std::unique_ptr<PipelineCache> pipelines_;
};

// Catches the errors of the calls that are made during its life, so that they reach whoever makes them.
class ErrorScope {
 public:
  explicit ErrorScope(Gpu& gpu);
  ErrorScope(const ErrorScope&) = delete;
  ~ErrorScope();

  // Ends the scope. `doing` completes the sentence "WebGPU fails at ...".
  Result<void> finish(std::string_view doing);

 private:
  Gpu& gpu_;
  bool open_ = true;
};

}  // namespace sconce::webgpu
