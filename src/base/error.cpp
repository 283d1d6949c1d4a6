#include "base/error.h"

namespace sconce {

const char* name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::corrupt_file:
      return "corrupt_file";
    case ErrorCode::io:
      return "io";
    case ErrorCode::out_of_memory:
      return "out_of_memory";
    case ErrorCode::device_lost:
      return "device_lost";
    case ErrorCode::cancelled:
      return "cancelled";
    case ErrorCode::internal:
      return "internal";
  }
  return "internal";
}

Error Error::within(std::string place) && {
  trail.push_back(std::move(place));
  return std::move(*this);
}

std::string Error::to_string() const {
  if (trail.empty()) return message;
  return fmt::format("{} [in {}]", message, fmt::join(trail, ", "));
}

}  // namespace sconce
