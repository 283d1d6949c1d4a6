#include "cli/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace sconce::cli {

void print_profile(const std::vector<KernelTime>& dispatches) {
  struct Row {
    std::string op, kernel;
    size_t count = 0;
    uint64_t nanoseconds = 0;
  };
  std::map<std::pair<std::string, std::string>, Row> by_kernel;
  uint64_t total = 0;
  for (const KernelTime& dispatch : dispatches) {
    Row& row = by_kernel[{dispatch.op, dispatch.kernel}];
    row.op = dispatch.op;
    row.kernel = dispatch.kernel;
    ++row.count;
    row.nanoseconds += dispatch.nanoseconds;
    total += dispatch.nanoseconds;
  }
  std::vector<Row> rows;
  for (const auto& [key, row] : by_kernel) rows.push_back(row);
  std::ranges::sort(rows, std::greater(), &Row::nanoseconds);

  fmt::print(stderr, "{:<36} {:<32} {:>6} {:>10} {:>6}\n", "operator", "kernel", "count", "us", "share");
  for (const Row& row : rows)
    fmt::print(stderr, "{:<36} {:<32} {:>6} {:>10.1f} {:>5.1f}%\n", row.op, row.kernel, row.count,
               static_cast<double>(row.nanoseconds) / 1e3,
               total ? 100.0 * static_cast<double>(row.nanoseconds) / static_cast<double>(total) : 0.0);
  fmt::print(stderr, "{:<69} {:>6} {:>10.1f}\n", "total", dispatches.size(), static_cast<double>(total) / 1e3);
}

}  // namespace sconce::cli
