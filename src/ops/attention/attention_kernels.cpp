#include "ops/attention/attention_kernels.h"

#include <algorithm>
#include <bit>

#include "kernels.h"

namespace sconce::ops {
namespace {

// The kernel for a device, and the part of the work of one workgroup.
struct Route {
  enum class Kind { plain, lanes, rows, matrix, step } kind;  // attention.wgsl, attention_lanes.wgsl and so on
  uint64_t rows, elements;                                    // of a tile
  uint64_t tile_keys = 64;
  uint64_t fewest_keys = 64;  // that are worth a split
};

// What attention_rows.wgsl and attention_matrix.wgsl need: whole vec4s, heads that fit, no mask.
bool is_plain_and_aligned(const Attention& a) {
  const uint64_t sizes = a.head_size | a.q_token | a.q_head | a.kv_token | a.kv_head;
  return sizes % 4 == 0 && a.head_size <= 128 && a.mask.kind == Operand::Kind::absent;
}

bool fits_matrix_unit(const record::Capabilities& device) {
  return device.f16_products && record::has_matrix_16(device) &&
         kernels::attention_matrix::info().workgroup_bytes <= device.max_workgroup_storage_bytes;
}

bool has_software_lanes(const record::Capabilities& device) {
  return device.adapter_class == record::AdapterClass::software && device.subgroups && device.subgroup_min_size >= 4;
}

Route choose_route(const Attention& a, const record::Capabilities& device) {
  const uint64_t head_rows = a.tokens * a.group;
  if (a.token) {
    const uint64_t tile_keys = 4096 / a.head_size;  // four of each team
    return {Route::Kind::step, head_rows <= 4 ? 4u : 8u, a.head_size, tile_keys, 4 * tile_keys};
  }
  if (has_software_lanes(device)) {
    const uint64_t width = device.subgroup_min_size >= 8 ? 8 : 4;
    return {Route::Kind::lanes, head_rows > 4 ? 8u : 4u, a.head_size > 4 * width ? 8 * width : 4 * width};
  }
  if (is_plain_and_aligned(a) && head_rows <= 8)
    return {Route::Kind::rows, head_rows <= 4 ? 4u : 8u, a.head_size, 32, 32};
  if (is_plain_and_aligned(a) && head_rows >= 32 && fits_matrix_unit(device))
    return {Route::Kind::matrix, 64, a.head_size};
  return {Route::Kind::plain, 4, a.head_size <= 64 ? 64u : a.head_size <= 128 ? 128u : 256u};
}

struct Splits {
  uint64_t count = 1;
  uint64_t keys = 0;  // of each, whole tiles
  bool operator==(const Splits&) const = default;
};

// Ranges of keys, so that there are about `wanted` workgroups. A software adapter has a few cores, and a second
// dispatch costs it as much as a hundred keys; a GPU needs hundreds of workgroups to be busy. The count has a limit,
// and so has the scratch memory, which does not grow with the context.
Splits split_keys(uint64_t keys, uint64_t workgroups, const Route& route, const record::Capabilities& device) {
  if (route.kind == Route::Kind::matrix) return {1, keys};
  const bool software = device.adapter_class == record::AdapterClass::software;
  const uint64_t wanted = software ? 6 : 256;
  const uint64_t fewest_keys = software ? 256 : route.fewest_keys;
  constexpr uint64_t kMostSplits = 64;
  uint64_t count = std::max<uint64_t>(1, wanted / workgroups);
  count = std::min({count, std::max<uint64_t>(1, keys / fewest_keys), kMostSplits});
  const uint64_t split = std::max(route.tile_keys, round_up(div_ceil(keys, count), route.tile_keys));
  return {std::max<uint64_t>(1, div_ceil(keys, split)), split};
}

// How many more keys are split in the same way, up to 64: so long the plan of a decode step stays as it is.
uint64_t more_keys(const Attention& a, uint64_t workgroups, const Route& route, const record::Capabilities& device) {
  const uint64_t most = std::min<uint64_t>(a.capacity - a.keys, 64);
  if (route.kind == Route::Kind::matrix) return most;
  const Splits splits = split_keys(a.keys, workgroups, route, device);
  uint64_t more = 0;
  while (more < most && split_keys(a.keys + more + 1, workgroups, route, device) == splits) ++more;
  return more;
}

// The parts of a kernel that do not depend on the route.
template <typename Kernel>
Kernel attention_kernel(const Attention& a, const Operand& output, const Splits& splits) {
  Kernel kernel;
  kernel.q = a.q;
  kernel.k = a.k;
  kernel.v = a.v;
  if (a.half_kv) kernel.kv = Kernel::Kv::f16;
  kernel.mask = a.mask;
  if constexpr (requires { kernel.masked; }) kernel.masked = a.mask.kind != Operand::Kind::absent;
  kernel.output = output;
  kernel.tokens = static_cast<uint32_t>(a.tokens);
  kernel.causal = a.causal;
  kernel.first_position = a.first_position.addend;
  kernel.position_entry = a.first_position.entry;
  kernel.keys = a.first_position.entry == 0 ? static_cast<uint32_t>(a.keys) : static_cast<uint32_t>(a.tokens);
  kernel.kv_heads = static_cast<uint32_t>(a.kv_heads);
  kernel.group = static_cast<uint32_t>(a.group);
  kernel.head_size = static_cast<uint32_t>(a.head_size);
  kernel.q_token = static_cast<uint32_t>(a.q_token);
  kernel.q_head = static_cast<uint32_t>(a.q_head);
  kernel.kv_token = static_cast<uint32_t>(a.kv_token);
  kernel.kv_head = static_cast<uint32_t>(a.kv_head);
  kernel.scale = static_cast<float>(a.scale);
  kernel.splits = static_cast<uint32_t>(splits.count);
  kernel.split_keys = static_cast<uint32_t>(splits.keys);
  return kernel;
}

kernels::attention_step step_kernel(const Attention& a, const Operand& output, const Splits& splits) {
  using Kernel = kernels::attention_step;
  Kernel kernel{.q = a.q,
                .k = a.token->k,
                .v = a.token->v,
                .k_cache = a.k,
                .v_cache = a.v,
                .output = output,
                .position = a.first_position.addend,
                .position_entry = a.first_position.entry,
                .kv_heads = static_cast<uint32_t>(a.kv_heads),
                .group = static_cast<uint32_t>(a.group),
                .scale = static_cast<float>(a.scale),
                .splits = static_cast<uint32_t>(splits.count),
                .split_keys = static_cast<uint32_t>(splits.keys),
                .quads = static_cast<uint32_t>(a.head_size / 4),
                .kv = a.half_kv ? Kernel::Kv::f16 : Kernel::Kv::f32};
  if (const auto& rotary = a.token->rotary) {
    kernel.cos_table = rotary->cos;
    kernel.sin_table = rotary->sin;
    kernel.table_row = a.token->table_row.addend;
    kernel.table_entry = a.token->table_row.entry;
    kernel.angles = static_cast<uint32_t>(rotary->cos.shape[1]);
    kernel.turning = static_cast<uint32_t>(rotary->rotary_size / 4);
    kernel.turn = rotary->halves ? Kernel::Turn::halves : Kernel::Turn::neighbours;
  }
  return kernel;
}

Result<void> dispatch_attention(const Attention& a, const Operand& output, const Route& route, const Splits& splits,
                                uint64_t workgroups, uint32_t subgroup_size, NodePlan& plan) {
  switch (route.kind) {
    case Route::Kind::plain: {
      auto kernel = attention_kernel<kernels::attention>(a, output, splits);
      kernel.d_tiles = static_cast<uint32_t>(route.elements / 64);
      return plan.dispatch(kernel, workgroups);
    }
    case Route::Kind::lanes: {
      auto kernel = attention_kernel<kernels::attention_lanes>(a, output, splits);
      kernel.rows = static_cast<uint32_t>(route.rows);
      kernel.width = subgroup_size >= 8 ? 8 : 4;
      kernel.wide = route.elements > 4 * kernel.width;
      return plan.dispatch(kernel, workgroups);
    }
    case Route::Kind::rows: {
      auto kernel = attention_kernel<kernels::attention_rows>(a, output, splits);
      kernel.rows = static_cast<uint32_t>(route.rows);
      kernel.wide = a.head_size > 64;
      return plan.dispatch(kernel, workgroups);
    }
    case Route::Kind::matrix: {
      auto kernel = attention_kernel<kernels::attention_matrix>(a, output, splits);
      kernel.wide = a.head_size > 64;
      return plan.dispatch(kernel, workgroups);
    }
    case Route::Kind::step: {
      auto kernel = step_kernel(a, output, splits);
      kernel.rows = static_cast<uint32_t>(route.rows);
      return plan.dispatch(kernel, workgroups);
    }
  }
  return {};
}

}  // namespace

bool takes_new_token(const Attention& a, const NewToken& token, const record::Capabilities& device) {
  if (has_software_lanes(device) || !device.subgroups || a.tokens != 1 || a.group > 8) return false;
  if (!std::has_single_bit(a.head_size) || a.head_size < 8 || a.head_size > 128) return false;
  if (device.subgroup_min_size < a.head_size / 4) return false;
  // The partner of a whole quad is a whole quad.
  return !token.rotary || !token.rotary->halves || token.rotary->rotary_size % 8 == 0;
}

Result<void> plan_attention(const Attention& a, const record::Capabilities& device, NodePlan& plan) {
  if (a.tokens == 0 || a.kv_heads == 0 || a.group == 0 || a.head_size == 0) return {};
  const Route route = choose_route(a, device);
  const uint64_t tiles = div_ceil(a.tokens * a.group, route.rows) * div_ceil(a.head_size, route.elements) * a.kv_heads;
  const Splits splits = split_keys(a.keys, tiles, route, device);
  if (a.first_position.symint != graph::kNone) {
    const uint64_t more = more_keys(a, tiles, route, device);
    plan.holds_while(a.first_position, a.first_position.value, a.first_position.value + static_cast<int64_t>(more));
  }
  const uint64_t rows = a.tokens * a.kv_heads * a.group;
  const Operand output =
      splits.count > 1 ? plan.scratch(splits.count * rows * (a.head_size + 2) * sizeof(float)) : a.output;
  SCONCE_DO(dispatch_attention(a, output, route, splits, tiles * splits.count, device.subgroup_min_size, plan));
  if (splits.count == 1) return {};
  return plan.dispatch(kernels::attention_merge{.parts = output,
                                                .output = a.output,
                                                .heads = static_cast<uint32_t>(a.kv_heads * a.group),
                                                .rows = static_cast<uint32_t>(rows),
                                                .head_size = static_cast<uint32_t>(a.head_size),
                                                .splits = static_cast<uint32_t>(splits.count),
                                                .q_token = static_cast<uint32_t>(a.q_token),
                                                .q_head = static_cast<uint32_t>(a.q_head)},
                       div_ceil(rows * a.head_size, 64));
}

}  // namespace sconce::ops
