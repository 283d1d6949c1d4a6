// A kernel: one WGSL file with its bindings, as the kernel generator (tools/build/kernels.py) reads them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "record/capabilities.h"

namespace sconce::record {

enum class Access : uint32_t { read, write };  // write: var<storage, read_write>

struct KernelBinding {
  std::string_view name;
  Access access;
};

// A compile-time choice of a kernel.
struct KernelChoice {
  enum class Kind {
    number,
    name,
    type
  };  // const tile = 4; | const op_add = 0u; const op = op_add; | alias Elem = f16;
  std::string_view name;
  std::span<const std::string_view> values;  // in the order of the file's `// variant:` line
  Kind kind;
};

inline constexpr uint32_t kMaxBindings = 8;  // every WebGPU device has them in one compute stage
inline constexpr uint32_t kMaxChoices = 4;
inline constexpr uint32_t kParamsBytes = 256;  // one slot of the parameter buffer: the offset alignment of uniforms

struct KernelInfo {
  std::string_view name;
  std::string_view source;   // WGSL after `// use:`, without the enable lines and choices
  std::string_view enables;  // "enable subgroups;\n" and so on, hoisted from the file and what it uses
  std::span<const KernelBinding> bindings;
  std::span<const KernelChoice> choices;
  uint32_t params_bytes;
  uint32_t invocations;      // of a workgroup, the largest of all variants
  uint32_t workgroup_bytes;  // of workgroup memory, the largest of all variants
  bool subgroups;            // needs the feature
  bool matrix;               // needs the matrix unit, with the shape that its file names
  uint32_t id;               // index into kernels::all()
};

// Which value of each choice, as a number in mixed radix: the first choice is the lowest digit, and a digit has as many
// values as its choice.
using Variant = uint32_t;

uint64_t variant_count(const KernelInfo& kernel);
// The value of choice number `choice`.
std::string_view chosen(const KernelInfo& kernel, Variant variant, size_t choice);

// The complete WGSL text of one variant.
std::string kernel_text(const KernelInfo& kernel, Variant variant);
// "matmul_tiled<tile=4, T=f16>" for profiles and messages.
std::string kernel_label(const KernelInfo& kernel, Variant variant);

}  // namespace sconce::record
