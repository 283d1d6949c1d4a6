// What the WebAssembly module and its host exchange beside the arrays of a Step: structs of fixed-width integers in the
// module's memory. Addresses are those of 32-bit WebAssembly. The host's side is generated (tools/build/layout.py).
#pragma once

#include <cstdint>

namespace sconce::wasm {

using Address = uint32_t;

// Record::Capabilities as the host fills it in; without matrix configurations, which no browser offers.
struct DeviceLimits {
  uint32_t adapter_class = 0;  // sconce::AdapterClass
  uint32_t f16 = 0, subgroups = 0, packed_dot = 0;
  uint32_t subgroup_min_size = 0, subgroup_max_size = 0;
  uint32_t max_workgroups_per_dimension = 0, max_invocations_per_workgroup = 0;
  uint32_t max_workgroup_storage_bytes = 0, max_storage_buffers = 0;
  uint64_t max_storage_binding_bytes = 0, max_buffer_bytes = 0;
};

// Bytes [offset, offset + size) of a source: what the reader asks for next.
struct RangeView {
  uint64_t offset = 0, size = 0;
  uint32_t source = 0, reserved = 0;
};

// A constant that the file stores under a key (a sha256, or the exporter's name); the key ends with a zero byte.
struct ConstantView {
  uint64_t offset = 0, size = 0;
  uint32_t source = 0;
  Address key = 0;
};

// Where the arrays of the tables and of the current Step lie, and the phase to submit. Valid until the next call.
struct StepView {
  Address buffers = 0;
  uint32_t buffer_count = 0;
  Address pipelines = 0;
  uint32_t pipeline_count = 0;
  Address bind_groups = 0;
  uint32_t bind_group_count = 0;
  uint32_t params_buffer = 0;
  Address commands = 0;  // of the phase
  uint32_t command_count = 0;
  Address params = 0;
  uint32_t params_bytes = 0;
  uint32_t dirty_begin = 0, dirty_end = 0;
  Address host_bytes = 0;
  uint32_t host_byte_count = 0;
  Address read_backs = 0;  // of the phase
  uint32_t read_back_count = 0;
};

// What a driver must know of a kernel before it compiles it.
struct KernelView {
  uint32_t bindings = 0;
  uint32_t writes = 0;  // bit i: binding i is written
  uint32_t invocations = 0, workgroup_bytes = 0, subgroups = 0;
};

// Bytes in the module's memory.
struct BytesView {
  Address at = 0;
  uint32_t size = 0;
};

// A tensor of a run: an input, or one of its outputs.
struct TensorEntry {
  uint32_t dtype = 0, rank = 0;
  Address at = 0;
  uint32_t size = 0;  // bytes
  int64_t dims[8] = {};
};

// sconce::GenerationOptions.
struct AnswerOptions {
  float temperature = 0, top_p = 1, min_p = 0;
  uint32_t top_k = 0;
  uint64_t seed = 0;
  uint32_t max_new_tokens = 0;
  Address end_tokens = 0;
  uint32_t end_token_count = 0, reserved = 0;
};

}  // namespace sconce::wasm
