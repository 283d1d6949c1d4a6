// Every operator that Sconce runs: its name in a delegate blob, its plan function, and what is known without planning.
// A line an operator, sorted by name within each family.
#include <algorithm>

#include "ops/attention/attention.h"
#include "ops/contract.h"
#include "ops/embedding/embedding.h"
#include "ops/linear/linear.h"
#include "ops/norm/norm.h"
#include "ops/rope/rope.h"

namespace sconce::ops {
namespace {

constexpr OperatorInfo kOperators[] = {
    // attention
    {"et_vk.sdpa.default", plan_sdpa, {}},
    {"sdpa_with_kv_cache.default", plan_sdpa_with_kv_cache, {.writes = {3, 4}}},
    {"update_cache.default", plan_update_cache, {.writes = {1, -1}}},
    // embedding
    {"aten.embedding.default", plan_embedding, {}},
    {"et_vk.embedding_q4gsw.default", plan_q4_embedding, {}},
    // linear
    {"et_vk.linear_q4gsw.default", plan_linear_q4gsw, {}},
    {"et_vk.linear_qcs4w.default", plan_linear_qcs4w, {}},
    // norm
    {"et_vk.rms_norm.default", plan_rms_norm, {}},
    // rope
    {"et_vk.apply_rotary_emb.default", plan_apply_rotary_emb, {}},
    {"et_vk.apply_rotary_emb_hf.default", plan_apply_rotary_emb_hf, {}},
    {"et_vk.apply_rotary_emb_interleaved.default", plan_apply_rotary_emb_interleaved, {}},
};

}  // namespace

std::span<const OperatorInfo> catalog() {
  static const std::vector<OperatorInfo> sorted = [] {
    std::vector<OperatorInfo> all(std::begin(kOperators), std::end(kOperators));
    std::ranges::sort(all, {}, &OperatorInfo::name);
    return all;
  }();
  return sorted;
}

const OperatorInfo* find_operator(std::string_view name) {
  std::span<const OperatorInfo> all = catalog();
  auto found = std::ranges::lower_bound(all, name, {}, &OperatorInfo::name);
  return found != all.end() && found->name == name ? &*found : nullptr;
}

}  // namespace sconce::ops
