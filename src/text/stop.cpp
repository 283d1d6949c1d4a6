#include "text/stop.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace sconce {

Result<StopStrings> StopStrings::make(std::vector<std::string> stops) {
  for (const std::string& stop : stops)
    SCONCE_CHECK(!stop.empty(), "A stop string is empty and would stop every answer; leave it out.");
  return StopStrings(std::move(stops));
}

std::string StopStrings::push(std::string_view piece) {
  if (stopped_) return {};
  held_ += piece;
  size_t first = std::string::npos;
  for (const std::string& stop : stops_) first = std::min(first, held_.find(stop));
  stopped_ = first != std::string::npos;
  std::string shown = held_.substr(0, stopped_ ? first : held_.size() - undecided());
  held_.erase(0, stopped_ ? std::string::npos : shown.size());
  return shown;
}

std::string StopStrings::finish() {
  stopped_ = false;
  return std::exchange(held_, {});
}

size_t StopStrings::undecided() const {
  size_t longest = 0;
  for (const std::string& stop : stops_)
    for (size_t size = std::min(stop.size() - 1, held_.size()); size > longest; --size)
      if (held_.ends_with(std::string_view(stop).substr(0, size))) longest = size;
  return longest;
}

}  // namespace sconce
