#include "ops/attention/attention_kernels.h"

#include <algorithm>

#include "kernels.h"

namespace sconce::ops {
namespace {

// The kernel for a device, and the part of the work of one workgroup.
struct Route {
  bool lanes;               // attention_lanes.wgsl
  uint64_t rows, elements;  // of a tile
};

Route choose_route(const Attention& a, const record::Capabilities& device) {
  if (device.adapter_class == record::AdapterClass::software && device.subgroups && device.subgroup_min_size >= 4) {
    const uint64_t width = device.subgroup_min_size >= 8 ? 8 : 4;
    return {true, a.tokens * a.group > 4 ? 8u : 4u, a.head_size > 4 * width ? 8 * width : 4 * width};
  }
  return {false, 4, a.head_size <= 64 ? 64u : a.head_size <= 128 ? 128u : 256u};
}

constexpr uint64_t kKeysOfTile = 64;

struct Splits {
  uint64_t count = 1;
  uint64_t keys = 0;  // of each, a multiple of kKeysOfTile
  bool operator==(const Splits&) const = default;
};

// Ranges of keys, so that there are about `wanted` workgroups. A software adapter has a few cores, and a second
// dispatch costs it as much as a hundred keys; a GPU needs hundreds of workgroups to be busy. The count has a limit,
// and so has the scratch memory, which does not grow with the context.
Splits split_keys(uint64_t keys, uint64_t workgroups, const record::Capabilities& device) {
  const bool software = device.adapter_class == record::AdapterClass::software;
  const uint64_t wanted = software ? 6 : 256;
  const uint64_t fewest_keys = software ? 256 : kKeysOfTile;
  constexpr uint64_t kMostSplits = 64;
  uint64_t count = std::max<uint64_t>(1, wanted / workgroups);
  count = std::min({count, std::max<uint64_t>(1, keys / fewest_keys), kMostSplits});
  const uint64_t split = std::max(kKeysOfTile, round_up(div_ceil(keys, count), kKeysOfTile));
  return {std::max<uint64_t>(1, div_ceil(keys, split)), split};
}

// How many more keys are split in the same way, up to `most`: so long the plan of a decode step stays as it is.
uint64_t more_keys(uint64_t keys, uint64_t workgroups, const record::Capabilities& device, uint64_t most) {
  const Splits splits = split_keys(keys, workgroups, device);
  uint64_t more = 0;
  while (more < most && split_keys(keys + more + 1, workgroups, device) == splits) ++more;
  return more;
}

// The parts of a kernel that do not depend on the route.
template <typename Kernel>
Kernel attention_kernel(const Attention& a, const Operand& output, const Splits& splits) {
  Kernel kernel;
  kernel.q = a.q;
  kernel.k = a.k;
  kernel.v = a.v;
  kernel.mask = a.mask;
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
  kernel.has_mask = a.mask.kind != Operand::Kind::absent;
  kernel.splits = static_cast<uint32_t>(splits.count);
  kernel.split_keys = static_cast<uint32_t>(splits.keys);
  return kernel;
}

Result<void> dispatch_attention(const Attention& a, const Operand& output, const Route& route, const Splits& splits,
                                uint64_t workgroups, uint32_t subgroup_size, NodePlan& plan) {
  if (!route.lanes) {
    auto kernel = attention_kernel<kernels::attention>(a, output, splits);
    kernel.d_tiles = static_cast<uint32_t>(route.elements / 64);
    return plan.dispatch(kernel, workgroups);
  }
  auto kernel = attention_kernel<kernels::attention_lanes>(a, output, splits);
  kernel.rows = static_cast<uint32_t>(route.rows);
  kernel.width = subgroup_size >= 8 ? 8 : 4;
  kernel.wide = route.elements > 4 * kernel.width;
  return plan.dispatch(kernel, workgroups);
}

}  // namespace

Result<void> plan_attention(const Attention& a, const record::Capabilities& device, NodePlan& plan) {
  if (a.tokens == 0 || a.kv_heads == 0 || a.group == 0 || a.head_size == 0) return {};
  const Route route = choose_route(a, device);
  const uint64_t tiles = div_ceil(a.tokens * a.group, route.rows) * div_ceil(a.head_size, route.elements) * a.kv_heads;
  const Splits splits = split_keys(a.keys, tiles, device);
  if (a.first_position.symint != graph::kNone) {
    const uint64_t more = more_keys(a.keys, tiles, device, std::min(a.capacity - a.keys, kKeysOfTile));
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
