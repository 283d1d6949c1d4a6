// How long each dispatch takes on the GPU.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/error.h"
#include "record/record.h"
#include "webgpu/api.h"

namespace sconce::webgpu {

class Gpu;

struct DispatchTime {
  uint32_t node = record::kNone;  // index into the graph's nodes
  uint32_t pipeline = 0;          // index into the Tables' pipelines
  std::string kernel;             // record::kernel_label
  uint64_t start_ns = 0;          // on the GPU's clock
  uint64_t nanoseconds = 0;
  uint64_t bytes = 0;  // live bytes of what it binds, if the Step has uses
};

// What the host did meanwhile.
struct HostSpan {
  const char* what;
  std::chrono::steady_clock::time_point start, end;
};

// Timestamps at the bounds of compute passes, which is where every WebGPU has them. A pass a dispatch costs about a
// microsecond more and keeps dispatches from overlapping, so the sum is larger than an unprofiled run.
class DispatchTimer {
 public:
  explicit DispatchTimer(Gpu& gpu) : gpu_(gpu) {}

  // The timestamps of the pass that runs `command` alone.
  WGPUPassTimestampWrites next(const record::Command& command);
  // Ends a command buffer: its timestamps are copied to where collect() reads them.
  void resolve(WGPUCommandEncoder encoder);
  // Waits for the GPU and returns the times since the last call, without the kernels' labels.
  Result<std::vector<DispatchTime>> collect();

 private:
  static constexpr uint32_t kQueries = 4096;  // WebGPU's limit for a query set

  struct Batch {
    Handle<WGPUQuerySet> queries;
    Handle<WGPUBuffer> resolved, readable;
    std::vector<DispatchTime> dispatches;
    bool is_resolved = false;
  };
  Batch make_batch();
  Result<void> read(Batch& batch);

  Gpu& gpu_;
  std::vector<Batch> batches_;
};

}  // namespace sconce::webgpu
