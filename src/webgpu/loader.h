// Finds an implementation of WebGPU in this process or on this machine.
#pragma once

#include "webgpu/api.h"
#include "webgpu/dawn_extras.h"

namespace sconce::webgpu {

struct Library {
  Api api;
  dawn::FreeMatrixConfigs free_matrix_configs = nullptr;  // null when the implementation is not Dawn
  std::string origin;                                     // where it was found, for messages
};

// The library may be Dawn or wgpu-native (wgpu_native.h). Tries, in this order: `host_function` when given; the library
// file that SCONCE_WEBGPU_LIBRARY names; an installed libwebgpu_dawn; the Dawn inside the Python package wgpudawn
// (python_dawn.h). What the caller or the environment asks for must work: only the last two are looked for in turn. The
// error lists every attempt and says what to install.
Result<Library> load_library(const FunctionLookup& host_function);

}  // namespace sconce::webgpu
