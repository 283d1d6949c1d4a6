// A run as plain data. The planner writes it; the native driver, the check executor and the browser driver replay it.
//
// Everything is dense ids into arrays of fixed-width integers: no pointers and no GPU objects. A driver keeps arrays of
// its own in parallel with those of a Tables object (its GPUBuffer of buffer 7 is element 7), creates what is new, and
// never needs to look anything up by content.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "record/kernel.h"

namespace sconce::record {

inline constexpr uint32_t kNone = UINT32_MAX;

// What a buffer is for decides its WebGPU usage flags: all are storage, copy source and copy destination, except params
// (uniform, copy destination).
enum class BufferUse : uint32_t {
  constant,    // of the model's own tables: written by the load Step, read ever after
  shared,      // a constant of the model, in the tables of a session: `shared` is its id in the model's tables
  state,       // kept between runs (KV cache); zeroed or loaded at the start of a session
  activation,  // undefined between runs
  scratch,     // as activation; may be replaced by a larger one
  params,      // uniform parameters of all dispatches
  staging,     // raw bytes of a constant on their way to the repacked form; released after loading
  retired,     // no longer used by any later Step: the driver releases it
};

struct Buffer {
  uint64_t size = 0;  // bytes; a multiple of 16, at least 16
  BufferUse use = BufferUse::activation;
  uint32_t shared = kNone;
};

struct Pipeline {
  uint32_t kernel = 0;  // index into kernels::all()
  Variant variant = 0;
};

// A whole buffer, or the first `size` bytes of it, at binding 0, 1, ... of group 0. Group 1 is always the params
// buffer.
struct BindGroup {
  uint32_t pipeline = 0;
  uint32_t count = 0;
  uint32_t buffers[kMaxBindings] = {};
};

// Grow-only: an id that was handed out keeps its meaning for the life of the session. A buffer may become retired; a
// bind group with a retired buffer is in no later Step, and drivers need not make it.
struct Tables {
  std::vector<Buffer> buffers;
  std::vector<Pipeline> pipelines;
  std::vector<BindGroup> bind_groups;
  uint32_t params = kNone;  // the id of the params buffer
};

enum class CommandKind : uint32_t {
  dispatch,
  copy,    // buffer to buffer
  clear,   // zeros
  upload,  // bytes of a source (a weight) into a buffer: only in the load Step
  write,   // bytes of Step::host_bytes (an input) into a buffer
};

// How bytes change on their way to the GPU, which holds an i64 as an i32 and an f64 as an f32.
enum class Convert : uint32_t { none, i64_to_i32, f64_to_f32 };

// One command; which fields count depends on the kind.
struct Command {
  CommandKind kind = CommandKind::dispatch;
  // dispatch
  uint32_t pipeline = 0;
  uint32_t bind_group = 0;
  uint32_t params_slot = 0;  // dynamic offset of group 1 in units of kParamsBytes
  uint32_t grid[3] = {0, 0, 0};
  uint32_t node = kNone;  // for profiles and messages: index into the graph's nodes
  // copy (buffer from -> buffer to), clear (to), upload (source `from` -> to), write (host_bytes -> to)
  uint32_t from = 0, to = 0;
  uint64_t from_offset = 0, to_offset = 0;  // bytes; multiples of 4, except an upload's from_offset
  uint64_t size = 0;                // bytes; a multiple of 4, except an upload's. A write of 0 bytes does nothing
  Convert convert = Convert::none;  // of an upload, whose size and from_offset count bytes before it
};

// The tensor that a command finds or leaves in a buffer. Tensors take turns in activation buffers, and a live tensor is
// smaller than its buffer; drivers need neither, the check executor (record/check.h) follows both.
struct Use {
  uint32_t value = kNone;  // the graph's value whose bytes they are: of a view, the tensor that it views
  uint64_t bytes = 0;      // live
};
// Of a dispatch: a Use a binding. Of a copy: `from`, then `to`. Of a write, clear or upload: `to`.
using Uses = std::array<Use, kMaxBindings>;

// Bytes to bring back to the host when a phase is done: [0, size) of a buffer.
struct ReadBack {
  uint32_t buffer = 0;
  uint64_t size = 0;       // bytes, rounded up to 4
  uint32_t value = kNone;  // as in Use
};

// The first slots of every parameter buffer are a table of SymInts, i32 each, that kernels look up by entry
// (ops/shared/live.wgsl): group 1 binds it at binding 1, whole and without an offset. Entry 0 is always 0. A step whose
// SymInts advanced and whose plans hold writes these bytes and nothing else.
inline constexpr uint32_t kLiveSlots = 4;
inline constexpr uint32_t kLiveBytes = kLiveSlots * kParamsBytes;
inline constexpr uint32_t kLiveEntries = kLiveBytes / 4;

// Commands [first, first + count) and then what the host must read before the next phase can be planned.
struct Phase {
  uint32_t first = 0, count = 0;
  std::vector<ReadBack> read_backs;
};

// Which bytes of `params` changed since the Step was last submitted.
struct DirtyRange {
  uint64_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
  void include(uint64_t first, uint64_t last) {
    if (empty()) {
      begin = first, end = last;
    } else {
      begin = first < begin ? first : begin;
      end = last > end ? last : end;
    }
  }
};

struct Step {
  std::vector<Command> commands;
  std::vector<Uses> uses;  // of each command; empty where nobody asked for them
  std::vector<Phase> phases;
  std::vector<std::byte> params;  // kParamsBytes a slot; the first kLiveSlots are the table of live integers
  DirtyRange dirty_params;
  std::vector<std::byte> host_bytes;  // the inputs of this run, for `write` commands (from_offset)
};

}  // namespace sconce::record
