// How the core makes and passes on errors. Public types are in sconce/result.h.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "sconce/result.h"

namespace sconce {

// fail(ErrorCode::io, "The file {} ends after {} bytes.", path, size) is a std::unexpected for any Result<T>.
template <typename... Args>
std::unexpected<Error> fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(Error{code, fmt::format(format, std::forward<Args>(args)...), {}});
}

}  // namespace sconce

#define SCONCE_JOIN_(a, b) a##b
#define SCONCE_JOIN(a, b) SCONCE_JOIN_(a, b)

// SCONCE_TRY(auto x, call()) declares x with the value of a Result, or returns its error.
#define SCONCE_TRY(declaration, ...) SCONCE_TRY_(SCONCE_JOIN(sconce_result_, __COUNTER__), declaration, __VA_ARGS__)
#define SCONCE_TRY_(result, declaration, ...)                            \
  auto result = (__VA_ARGS__);                                           \
  if (!result) return std::unexpected<Error>(std::move(result).error()); \
  declaration = *std::move(result)

// SCONCE_DO(call()) returns the error of a Result<void> (or of any Result whose value is not needed).
#define SCONCE_DO(...)                                                                                                 \
  do {                                                                                                                 \
    if (auto sconce_done = (__VA_ARGS__); !sconce_done) return std::unexpected<Error>(std::move(sconce_done).error()); \
  } while (false)

// SCONCE_CHECK(a == b, "a is {} but b is {}.", a, b) returns an invalid_argument error when the condition is false.
#define SCONCE_CHECK(condition, ...)                                                             \
  do {                                                                                           \
    if (!(condition)) return ::sconce::fail(::sconce::ErrorCode::invalid_argument, __VA_ARGS__); \
  } while (false)
