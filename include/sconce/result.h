// Errors as values: every fallible call of Sconce returns Result<T>; nothing in the library throws.
#pragma once

#include <expected>
#include <string>
#include <utility>
#include <vector>

namespace sconce {

enum class ErrorCode {
  invalid_argument,  // the caller passed something that the model or the device does not allow
  not_found,         // a file, method, tensor or adapter of that name is missing
  unsupported,       // the program asks for something that Sconce has no kernel for
  corrupt_file,      // bytes that do not follow the format
  io,                // the operating system refused to read or write
  out_of_memory,     // the GPU or the host has no room left
  device_lost,       // the GPU went away; the model must be loaded again
  cancelled,         // the caller asked to stop
  internal,          // a defect of Sconce itself
};

// "invalid_argument", "device_lost" and so on: stable names for scripts.
const char* name_of(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;             // a full sentence with the values that matter and what to do
  std::vector<std::string> trail;  // where it happened, innermost first: "node 12 (aten.add.Tensor)", "method forward"

  // Adds the next outer place to the trail.
  Error within(std::string place) &&;
  // The message followed by the trail: "The input has ... [in node 12 (aten.add.Tensor), method forward]".
  std::string to_string() const;
};

template <typename T>
using Result = std::expected<T, Error>;

}  // namespace sconce
