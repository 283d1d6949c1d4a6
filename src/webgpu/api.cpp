#include "webgpu/api.h"

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

}  // namespace sconce::webgpu
