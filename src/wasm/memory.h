// How exported functions give back texts and errors, and how they reach bytes that the host wrote.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "wasm/interface.h"

// A function that the host calls. Handles are addresses of objects; 0 is none.
#define SCONCE_EXPORT(name) extern "C" [[clang::export_name("sconce_" #name)]]

namespace sconce::wasm {

inline Address address_of(const void* pointer) {
  return static_cast<Address>(reinterpret_cast<uintptr_t>(pointer));
}

template <typename T>
std::span<const T> span_at(Address at, size_t count) {
  return {reinterpret_cast<const T*>(static_cast<uintptr_t>(at)), count};
}

// Keeps a text for the host until the next call that gives one; ends with a zero byte.
Address give_text(std::string text);

// What functions return that may fail: 0 is success. After kFailed the host asks sconce_error().
inline constexpr uint32_t kFailed = UINT32_MAX;
uint32_t give_error(const Error& error);
template <typename T>
uint32_t status(const Result<T>& result) {
  return result ? 0 : give_error(result.error());
}

}  // namespace sconce::wasm
