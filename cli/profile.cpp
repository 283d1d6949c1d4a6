#include "cli/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/text.h"

namespace sconce::cli {

void print_profile(std::FILE* to, const std::vector<KernelTime>& dispatches) {
  struct Row {
    std::string op, kernel;
    size_t count = 0;
    uint64_t nanoseconds = 0, bytes = 0;
  };
  std::map<std::pair<std::string, std::string>, Row> by_kernel;
  uint64_t total = 0;
  for (const KernelTime& dispatch : dispatches) {
    Row& row = by_kernel[{dispatch.op, dispatch.kernel}];
    row.op = dispatch.op;
    row.kernel = dispatch.kernel;
    ++row.count;
    row.nanoseconds += dispatch.nanoseconds;
    row.bytes += dispatch.bytes;
    total += dispatch.nanoseconds;
  }
  std::vector<Row> rows;
  for (const auto& [key, row] : by_kernel) rows.push_back(row);
  std::ranges::sort(rows, std::greater(), &Row::nanoseconds);

  fmt::print(to, "{:<36} {:<32} {:>6} {:>10} {:>8} {:>6}\n", "operator", "kernel", "count", "us", "GB/s", "share");
  for (const Row& row : rows)
    fmt::print(to, "{:<36} {:<32} {:>6} {:>10.1f} {:>8.1f} {:>5.1f}%\n", row.op, row.kernel, row.count,
               static_cast<double>(row.nanoseconds) / 1e3,
               per_second(static_cast<double>(row.bytes), static_cast<double>(row.nanoseconds)),
               total ? 100.0 * static_cast<double>(row.nanoseconds) / static_cast<double>(total) : 0.0);
  fmt::print(to, "{:<69} {:>6} {:>10.1f}\n", "total", dispatches.size(), static_cast<double>(total) / 1e3);
}

}  // namespace sconce::cli
