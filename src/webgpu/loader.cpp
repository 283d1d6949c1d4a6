#include "webgpu/loader.h"

#include <dlfcn.h>

#include <cstdlib>

#include "webgpu/python_dawn.h"
#include "webgpu/wgpu_native.h"

namespace sconce::webgpu {
namespace {

#ifdef __APPLE__
constexpr const char* kDawnLibrary = "libwebgpu_dawn.dylib";
#else
constexpr const char* kDawnLibrary = "libwebgpu_dawn.so";
#endif

Result<Library> from_lookup(const FunctionLookup& lookup, std::string origin) {
  if (is_wgpu_native(lookup)) {
    SCONCE_TRY(Api api, wgpu_native_api(lookup));
    return Library{api, nullptr, std::move(origin)};
  }
  SCONCE_TRY(Api api, fill_api(lookup));
  auto free_configs = reinterpret_cast<dawn::FreeMatrixConfigs>(lookup(dawn::kFreeMatrixConfigs));
  return Library{api, free_configs, std::move(origin)};
}

// The library stays loaded until the process ends: drivers keep threads of their own.
Result<Library> from_file(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return fail(ErrorCode::not_found, "{}", dlerror());
  return from_lookup([library](std::string_view name) { return dlsym(library, std::string(name).c_str()); }, path);
}

Result<Library> from_python() {
  SCONCE_TRY(PythonDawn dawn, load_python_dawn());
  auto get = reinterpret_cast<WGPUProcGetProcAddress>(dawn.get_proc_address);
  return from_lookup([get](std::string_view name) { return reinterpret_cast<void*>(get(view(name))); }, dawn.origin);
}

}  // namespace

Result<Library> load_library(const FunctionLookup& host_function) {
  if (host_function) {
    auto library = from_lookup(host_function, "the host's functions");
    if (library) return library;
    return fail(ErrorCode::not_found, "The WebGPU functions that the host passes in cannot be used: {}.",
                library.error().message);
  }
  if (const char* path = std::getenv("SCONCE_WEBGPU_LIBRARY"); path && *path) {
    auto library = from_file(path);
    if (library) return library;
    return fail(
        ErrorCode::not_found,
        "The WebGPU library that the environment variable SCONCE_WEBGPU_LIBRARY names cannot be used: {}. Name a "
        "build of Dawn or wgpu-native, or unset the variable.",
        library.error().message);
  }
  auto installed = from_file(kDawnLibrary);
  if (installed) return installed;
  auto python = from_python();
  if (python) return python;
  return fail(ErrorCode::not_found,
              "No WebGPU library is found. Tried:\n  {}: {}\n  the Python package wgpudawn: {}\nInstall Dawn with `pip "
              "install wgpudawn cffi` in the active virtual environment (or name its site-packages folder in "
              "SCONCE_PYTHON_SITE), or name a build of Dawn in SCONCE_WEBGPU_LIBRARY.",
              kDawnLibrary, installed.error().message, python.error().message);
}

}  // namespace sconce::webgpu
