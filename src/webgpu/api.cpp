#include "webgpu/api.h"

#include <algorithm>

namespace sconce::webgpu {

Result<Api> fill_api(const FunctionLookup& lookup) {
  Api api;
  std::string missing;
#define SCONCE_WEBGPU_FILL(name)                                     \
  api.name = reinterpret_cast<WGPUProc##name>(lookup("wgpu" #name)); \
  if (!api.name) missing += missing.empty() ? "wgpu" #name : ", wgpu" #name;
  SCONCE_WEBGPU_FUNCTIONS(SCONCE_WEBGPU_FILL)
#undef SCONCE_WEBGPU_FILL
  if (!missing.empty()) return fail(ErrorCode::not_found, "it lacks the functions {}", missing);
  return api;
}

std::string text(WGPUStringView view) {
  if (!view.data) return {};
  return view.length == WGPU_STRLEN ? std::string(view.data) : std::string(view.data, view.length);
}

std::string message_text(WGPUStringView message) {
  std::string cleaned;
  const std::string all = text(message);
  for (size_t start = 0; start < all.size();) {
    const size_t end = std::min(all.find('\n', start), all.size());
    const std::string_view line = std::string_view(all).substr(start, end - start);
    if (!line.empty() && !line.starts_with("    at ")) {
      if (!cleaned.empty()) cleaned += '\n';
      cleaned += line;
    }
    start = end + 1;
  }
  return cleaned;
}

}  // namespace sconce::webgpu
