// Devices' oddities, a line each.
#include <algorithm>

#include "webgpu/capabilities.h"

namespace sconce::webgpu {
namespace {

struct Quirk {
  const char* vendor;  // AdapterInfo::vendor
  void (*apply)(record::Capabilities& capabilities);
};

constexpr Quirk kQuirks[] = {
    // OpArrayLength returns 0 for a binding of 2 GiB or more. Dawn lowers the limit too; other implementations do not.
    {"nvidia",
     [](record::Capabilities& c) {
       c.max_storage_binding_bytes = std::min<uint64_t>(c.max_storage_binding_bytes, (1ull << 31) - 4);
     }},
};

}  // namespace

void apply_quirks(const AdapterInfo& adapter, record::Capabilities& capabilities) {
  for (const Quirk& quirk : kQuirks)
    if (adapter.vendor == quirk.vendor) quirk.apply(capabilities);
}

}  // namespace sconce::webgpu
