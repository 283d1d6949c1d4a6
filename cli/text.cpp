#include "cli/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace sconce::cli {

std::string format_bytes(uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  const char* units[] = {"KB", "MB", "GB", "TB"};
  size_t unit = 0;
  for (value /= 1000; value >= 999.95 && unit + 1 < std::size(units); ++unit) value /= 1000;
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string count_of(uint64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string describe(const ValueInfo& value) {
  if (value.is_symint) return "integer";
  return fmt::format("{} {}", name_of(value.dtype), value.bound.to_string());
}

nlohmann::ordered_json to_json(const Shape& shape) {
  return std::vector<int64_t>(shape.begin(), shape.end());
}

nlohmann::ordered_json to_json(const AdapterInfo& adapter) {
  const AdapterLimits& limits = adapter.limits;
  return {
      {"name", adapter.name},
      {"class", name_of(adapter.adapter_class)},
      {"vendor", adapter.vendor},
      {"driver", adapter.driver},
      {"backend", adapter.backend},
      {"features", adapter.features},
      {"limits",
       {{"max_buffer_bytes", limits.max_buffer_bytes},
        {"max_storage_binding_bytes", limits.max_storage_binding_bytes},
        {"max_storage_buffers", limits.max_storage_buffers},
        {"max_workgroup_storage_bytes", limits.max_workgroup_storage_bytes},
        {"max_invocations_per_workgroup", limits.max_invocations_per_workgroup},
        {"max_workgroups_per_dimension", limits.max_workgroups_per_dimension},
        {"subgroup_min_size", limits.subgroup_min_size},
        {"subgroup_max_size", limits.subgroup_max_size}}},
  };
}

void print_json(const nlohmann::ordered_json& value) {
  // Text that is not UTF-8 (a path, say) must not stop the report.
  const std::string text = value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  fmt::print("{}\n", text);
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double per_second(double count, double seconds) {
  return seconds > 0 ? count / seconds : 0;
}

}  // namespace sconce::cli
