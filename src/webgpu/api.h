// WebGPU as a table of function pointers. Nothing is linked: the implementation is found at run time (loader.h).
#pragma once

#define WGPU_SKIP_DECLARATIONS
#include <webgpu.h>

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace sconce::webgpu {

// Every function that the driver calls, without the prefix wgpu.
#define SCONCE_WEBGPU_FUNCTIONS(F)        \
  F(CreateInstance)                       \
  F(InstanceRequestAdapter)               \
  F(InstanceHasWGSLLanguageFeature)       \
  F(InstanceProcessEvents)                \
  F(InstanceWaitAny)                      \
  F(InstanceRelease)                      \
  F(AdapterGetInfo)                       \
  F(AdapterInfoFreeMembers)               \
  F(AdapterGetLimits)                     \
  F(AdapterHasFeature)                    \
  F(AdapterRequestDevice)                 \
  F(AdapterRelease)                       \
  F(DeviceGetQueue)                       \
  F(DeviceCreateBindGroup)                \
  F(DeviceCreateBindGroupLayout)          \
  F(DeviceCreateBuffer)                   \
  F(DeviceCreateCommandEncoder)           \
  F(DeviceCreateComputePipelineAsync)     \
  F(DeviceCreatePipelineLayout)           \
  F(DeviceCreateQuerySet)                 \
  F(DeviceCreateShaderModule)             \
  F(DevicePushErrorScope)                 \
  F(DevicePopErrorScope)                  \
  F(DeviceDestroy)                        \
  F(DeviceRelease)                        \
  F(QueueSubmit)                          \
  F(QueueWriteBuffer)                     \
  F(QueueOnSubmittedWorkDone)             \
  F(QueueRelease)                         \
  F(CommandEncoderBeginComputePass)       \
  F(CommandEncoderClearBuffer)            \
  F(CommandEncoderCopyBufferToBuffer)     \
  F(CommandEncoderResolveQuerySet)        \
  F(CommandEncoderFinish)                 \
  F(CommandEncoderRelease)                \
  F(CommandBufferRelease)                 \
  F(ComputePassEncoderSetPipeline)        \
  F(ComputePassEncoderSetBindGroup)       \
  F(ComputePassEncoderDispatchWorkgroups) \
  F(ComputePassEncoderEnd)                \
  F(ComputePassEncoderRelease)            \
  F(BufferMapAsync)                       \
  F(BufferGetConstMappedRange)            \
  F(BufferUnmap)                          \
  F(BufferDestroy)                        \
  F(BufferRelease)                        \
  F(BindGroupRelease)                     \
  F(BindGroupLayoutRelease)               \
  F(PipelineLayoutRelease)                \
  F(ComputePipelineRelease)               \
  F(ShaderModuleRelease)                  \
  F(QuerySetRelease)

struct Api {
#define SCONCE_WEBGPU_MEMBER(name) WGPUProc##name name = nullptr;
  SCONCE_WEBGPU_FUNCTIONS(SCONCE_WEBGPU_MEMBER)
#undef SCONCE_WEBGPU_MEMBER
};

// Returns the function of a name such as "wgpuCreateInstance", or null.
using FunctionLookup = std::function<void*(std::string_view name)>;

// Fills the table. An error names the functions that are missing.
Result<Api> fill_api(const FunctionLookup& lookup);

inline WGPUStringView view(std::string_view text) {
  return {text.data(), text.size()};
}
std::string text(WGPUStringView view);
// Of an error: without the end of lines and the places in the implementation's source that Dawn adds.
std::string message_text(WGPUStringView message);

// Owns one reference to a WebGPU object: Handle<WGPUBuffer>(buffer, api.BufferRelease).
template <typename Object>
class Handle {
 public:
  Handle() = default;
  Handle(Object object, void (*release)(Object)) : object_(object), release_(release) {}
  Handle(Handle&& other) noexcept : object_(std::exchange(other.object_, nullptr)), release_(other.release_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~Handle() { reset(); }

  void reset() {
    if (Object object = std::exchange(object_, nullptr)) release_(object);
  }
  Object get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  Object object_ = nullptr;
  void (*release_)(Object) = nullptr;
};

}  // namespace sconce::webgpu
