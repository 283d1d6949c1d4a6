#include "wasm/memory.h"

#include <cstdlib>

namespace sconce::wasm {
namespace {

std::string g_text, g_error;

}  // namespace

Address give_text(std::string text) {
  g_text = std::move(text);
  return address_of(g_text.c_str());
}

uint32_t give_error(const Error& error) {
  g_error = fmt::format("{}\n{}", name_of(error.code), error.to_string());
  return kFailed;
}

// "out_of_memory\nThe sentence.": why the last call failed.
SCONCE_EXPORT(error) const char* error() {
  return g_error.c_str();
}
SCONCE_EXPORT(allocate) void* allocate(size_t bytes) {
  return std::malloc(bytes);
}
SCONCE_EXPORT(release) void release(void* bytes) {
  std::free(bytes);
}

}  // namespace sconce::wasm
