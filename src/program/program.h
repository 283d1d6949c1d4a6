// What a .pte file holds, as plain data: methods with their values and instructions, delegate blobs, and where each
// constant's bytes are. Nothing here owns weights; a constant is a range of a source that is read when it is uploaded.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sconce/tensor.h"

namespace sconce::program {

// Bytes [offset, offset + size) of a source. Source 0 is the .pte file; a .ptd file or a host's data are further ones.
struct Range {
  uint32_t source = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
};

// A constant's bytes and its content key: the sha256 of the bytes where the exporter gives one (equal keys are equal
// bytes), otherwise a name made of the range.
struct Constant {
  Range range;
  std::string key;
};

// ---- a method as ExecuTorch stores it (schema/program.fbs of the executorch package) ----

using EValueId = uint32_t;

struct None {};
// A tensor's place in the memory that the exporter planned for a run. A tensor that no instruction writes is a view of
// the one written last at the same place (the exporter elides views of fixed shape), or a mutable buffer.
struct MemoryPlace {
  uint32_t arena = 0;
  uint64_t offset = 0;
  friend auto operator<=>(const MemoryPlace&, const MemoryPlace&) = default;
};
struct TensorSpec {
  Dtype dtype = Dtype::f32;
  Shape bound;                       // serialized sizes: the upper bound of each dim
  std::vector<uint8_t> dim_order;    // a permutation; Sconce reads contiguous (0, 1, 2, ...) only
  bool dynamic = false;              // the exporter marked at least one dim as bounded rather than fixed
  std::optional<Constant> constant;  // bytes in the constant or named data
  std::optional<Constant> initial;   // bytes of a mutable buffer's first contents
  bool mutable_state = false;        // marked as a mutable buffer (one without a name or first contents is not marked)
  std::optional<MemoryPlace> place;  // absent for constants and for tensors that the caller provides
};
struct IntList {
  std::vector<EValueId> items;  // ids of Int values (which may be SymInts)
};
struct TensorList {
  std::vector<int32_t> items;  // ids of tensor values; -1 is None (optional tensor lists)
};
struct RealList {
  std::vector<double> items;
};
struct BoolList {
  std::vector<bool> items;
};
using EValue =
    std::variant<None, int64_t, double, bool, std::string, TensorSpec, IntList, TensorList, RealList, BoolList>;

struct KernelCall {
  std::string name;      // "aten::add"
  std::string overload;  // "out"
  std::vector<EValueId> args;
};
struct DelegateCall {
  uint32_t delegate = 0;       // index into Method::delegates
  std::vector<EValueId> args;  // inputs, then outputs
};
struct MoveCall {
  EValueId from = 0, to = 0;
};
struct JumpIfFalse {
  EValueId condition = 0;
  uint32_t destination = 0;
};
struct FreeCall {
  EValueId value = 0;
};
using Instruction = std::variant<KernelCall, DelegateCall, MoveCall, JumpIfFalse, FreeCall>;

// ---- a delegate blob (header VH00, flatbuffer VK00: schema.fbs of the Vulkan backend) ----

using BlobValueId = uint32_t;

struct BlobSymInt {};
struct BlobTensor {
  Dtype dtype = Dtype::f32;  // what the device holds: i64 is serialized as i32, f64 as f32
  Shape bound;
  std::optional<Constant> constant;
};
struct BlobIntList {
  std::vector<int64_t> items;
};
struct BlobValueList {
  std::vector<BlobValueId> items;
};
using BlobValue = std::variant<None, int64_t, double, bool, BlobTensor, BlobIntList, RealList, BoolList, BlobValueList,
                               std::string, BlobSymInt>;

struct BlobCall {
  uint32_t node_id = 0;
  std::string name;  // "et_vk.linear_q4gsw.default"
  std::vector<BlobValueId> args;
};
struct Blob {
  std::vector<BlobValue> values;
  std::vector<BlobCall> chain;
  std::vector<BlobValueId> inputs, outputs;
};

struct Delegate {
  std::string backend;       // "VulkanBackend"
  std::optional<Blob> blob;  // present when the backend is one that Sconce replaces
};

struct Method {
  std::string name;
  std::vector<EValue> values;
  std::vector<EValueId> inputs, outputs;
  std::vector<Instruction> instructions;
  std::vector<Delegate> delegates;
};

using NamedData = std::map<std::string, Constant, std::less<>>;  // by key

struct Program {
  std::vector<Method> methods;
  NamedData named_data;
};

// The values that the exporter stored beside the model, each as a method without inputs and instructions that returns
// them: {"get_max_seq_len": [256], "get_eos_ids": [2, 3], ...}.
std::map<std::string, std::vector<EValue>> metadata(const Program& program);

}  // namespace sconce::program
