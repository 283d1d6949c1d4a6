// Loading a program and running it.
//
//   auto device  = sconce::Device::open();
//   auto model   = sconce::Model::load(*device, "model.pte");
//   auto session = sconce::Session::create(*model);
//   auto outputs = session->run({tokens, position});   // at any live shape within the upper bounds, in any order
//
// A Model owns weights and pipelines and is shared; a Session owns what changes: activations and state (KV caches).
// Both keep the device alive. One thread at a time may use a Device and all that belongs to it.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sconce/device.h"
#include "sconce/pending.h"
#include "sconce/result.h"
#include "sconce/tensor.h"

namespace sconce {

// An input or output of a method.
struct ValueInfo {
  Dtype dtype = Dtype::f32;
  Shape bound;             // upper bound of each dim; a live dim lies between 0 and it
  bool is_symint = false;  // one integer instead of a tensor: pass a one-element i64 tensor
};

struct MethodInfo {
  std::string name;
  std::vector<ValueInfo> inputs, outputs;
};

struct LoadProgress {
  const char* stage = "";        // "weights", "pipelines"
  uint64_t done = 0, total = 0;  // bytes of weights, number of pipelines
};

// What linears with quantized weights may round to. Sums are f32 either way.
enum class Precision {
  exact,  // products of f32 activations with weights and scales as the program stores them
  fast,   // where the device is faster with them, products of f16: each operand is rounded to 11 significant bits
};

struct LoadOptions {
  // Called now and then while loading; returning false cancels it (ErrorCode::cancelled).
  std::function<bool(const LoadProgress&)> progress;
  // The .ptd files with constants that the exporter put outside of the .pte file, in any order.
  std::vector<std::string> data_files;
  // false turns graph rewrites off; answers agree within tolerance.
  bool fuse = true;
  Precision precision = Precision::exact;
  // Hold KV caches as f16, where the device has that (WebGPU's shader-f16): half the memory, and less to read in each
  // decode step. Keys and values are rounded to 11 significant bits as they are appended; sums stay f32.
  bool half_caches = false;
  // Make pipelines for a list of probe shapes now rather than when a run first needs them.
  bool warm_up = true;
  // Upload made-up constants of the right types and sizes instead of the program's own, for measurements: results mean
  // nothing, but stay finite. The only way to load what `sconce strip` made.
  bool fill_weights = false;
};

class Model {
 public:
  // Reads a .pte file, uploads its weights and makes its pipelines. Errors: not_found or io for the file, corrupt_file,
  // unsupported (all missing operators at once), out_of_memory, cancelled.
  static Result<Model> load(Device& device, const std::string& path, const LoadOptions& options = {});

  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  const std::vector<MethodInfo>& methods() const;
  // Null when there is none of that name.
  const MethodInfo* method(std::string_view name) const;
  // What the program's constant methods return: get_max_seq_len, get_vocab_size and so on.
  const std::map<std::string, std::vector<int64_t>>& metadata() const;
  uint64_t weight_bytes() const;  // on the GPU

  struct Impl;
  Impl& impl() const { return *impl_; }

 private:
  explicit Model(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
  friend class Session;
  friend class Generator;
};

struct RunStatistics {
  double replan_us = 0;       // planning, parameters included, of the last run
  size_t planned_nodes = 0;   // of the last run
  size_t dispatches = 0;      // of the last run
  uint64_t device_bytes = 0;  // of the session's buffers, without the model's weights; of these:
  uint64_t state_bytes = 0, activation_bytes = 0, scratch_bytes = 0;
};

// For tests and measurements; both cost time.
struct SessionOptions {
  // Fill activations with NaN before each run, so that reading what was not written shows, and verify everything that
  // is submitted (src/record/check.h).
  bool poison = false;
  // Time each dispatch (Session::take_profile).
  bool profile = false;
};

struct KernelTime {
  std::string node, op;   // the graph's node and its operator
  std::string kernel;     // with its variant
  uint64_t start_ns = 0;  // on the GPU's clock
  uint64_t nanoseconds = 0;
  uint64_t bytes = 0;  // live bytes of all that it binds
};
// A stretch of the host's time in a run.
struct HostTime {
  std::string what;       // "plan", "encode", "submit", "wait"
  uint64_t start_ns = 0;  // on a clock of its own
  uint64_t nanoseconds = 0;
};

class Session {
 public:
  // A session over one method, with state as the program stores it (KV caches: zeros). Errors: not_found for the
  // method, out_of_memory.
  static Result<Session> create(const Model& model, std::string_view method = "forward",
                                const SessionOptions& options = {});

  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // Runs the method and waits. Inputs in the method's order; each dim from 0 to its upper bound. Outputs have live
  // shapes. An error before the GPU starts (shapes, bounds, capacity) changes nothing: the next valid run works, caches
  // included. After a device error the session says so until reset() or a new load.
  Result<std::vector<Tensor>> run(std::span<const TensorView> inputs);
  Result<std::vector<Tensor>> run(std::initializer_list<TensorView> inputs) {
    return run(std::span(inputs.begin(), inputs.size()));
  }
  // The same without waiting. Input bytes are copied before it returns. One run at a time: starting another while one
  // is pending is an error.
  Result<Pending<std::vector<Tensor>>> start(std::span<const TensorView> inputs);

  // Puts state back to what the program stores.
  Result<void> reset();

  RunStatistics statistics() const;
  // With SessionOptions::profile: the dispatches since the last call, in order.
  std::vector<KernelTime> take_profile();
  std::vector<HostTime> take_host_times();
  // With SessionOptions::poison: an error that names the buffers behind whose ends something was written.
  Result<void> check_guards();

  struct Impl;
  Impl& impl() const { return *impl_; }

 private:
  explicit Session(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
  friend class Generator;
};

}  // namespace sconce
