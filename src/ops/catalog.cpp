// Every operator that Sconce runs: its name in a delegate blob, its plan function, and what is known without planning.
// A line an operator, sorted by name within each family.
#include <algorithm>

#include "ops/contract.h"
#include "ops/norm/norm.h"

namespace sconce::ops {
namespace {

constexpr OperatorInfo kOperators[] = {
    // norm
    {"et_vk.rms_norm.default", plan_rms_norm, {}},
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
