// The devices that plans are tried for: every combination of what decides between kernels.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "record/capabilities.h"

namespace sconce::test {

struct CapabilitySet {
  std::string name;
  record::Capabilities capabilities;
};

inline std::vector<CapabilitySet> all_capability_sets() {
  struct Subgroups {
    bool supported;
    uint32_t least, most;
  };
  std::vector<CapabilitySet> sets;
  for (auto adapter :
       {record::AdapterClass::discrete, record::AdapterClass::integrated, record::AdapterClass::software})
    for (Subgroups subgroups :
         {Subgroups{false, 4, 128}, Subgroups{true, 4, 4}, Subgroups{true, 8, 16}, Subgroups{true, 32, 32},
          Subgroups{true, 64, 64}, Subgroups{true, 128, 128}, Subgroups{true, 4, 128}})
      for (bool f16 : {false, true})
        for (uint32_t workgroups : {8u, 65535u})
          for (uint64_t binding_bytes : {uint64_t{1} << 20, uint64_t{128} << 20})
            for (uint32_t workgroup_bytes : {16384u, 32768u}) {
              record::Capabilities c;
              c.adapter_class = adapter;
              c.f16 = f16;
              c.subgroups = subgroups.supported;
              c.subgroup_min_size = subgroups.least;
              c.subgroup_max_size = subgroups.most;
              c.max_workgroups_per_dimension = workgroups;
              c.max_storage_binding_bytes = binding_bytes;
              c.max_workgroup_storage_bytes = workgroup_bytes;
              c.max_invocations_per_workgroup = workgroup_bytes == 16384 ? 256 : 1024;
              static constexpr const char* kClasses[] = {"discrete", "integrated", "software"};
              // Where a matrix unit is found it comes with all of these.
              if (f16 && subgroups.supported && subgroups.least == 32 && subgroups.most == 32) {
                c.matrix_configs = {{.m = 16, .n = 16, .k = 16}};
                c.f16_products = workgroup_bytes == 32768;
              }
              sets.push_back(
                  {fmt::format("{}, {}, f16 {}, {} workgroups a dim, bindings of {} KiB, workgroups of {} KiB",
                               kClasses[static_cast<size_t>(adapter)],
                               subgroups.supported
                                   ? fmt::format("subgroups of {} to {}", subgroups.least, subgroups.most)
                                   : "no subgroups",
                               f16, workgroups, binding_bytes >> 10, workgroup_bytes >> 10),
                   c});
            }
  return sets;
}

}  // namespace sconce::test
