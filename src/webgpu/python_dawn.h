// The Dawn inside the Python package wgpudawn: the one prebuilt Dawn that a package registry offers for all platforms.
#pragma once

#include <string>

#include "base/error.h"

namespace sconce::webgpu {

struct PythonDawn {
  void* get_proc_address = nullptr;  // a WGPUProcGetProcAddress
  std::string origin;                // the folder it was found in
};

// The package is a Python extension that exports nothing but its init function, so Python itself has to load it: the
// interpreter of this process when there is one, otherwise libpython, which is started for this purpose and never again
// used (about 0.1 s). The site-packages folders that are searched, in this order:
//   1. the one that the environment variable SCONCE_PYTHON_SITE names, and no other when it is set;
//   2. that of the active virtual environment (VIRTUAL_ENV);
//   3. that of a folder `venv` beside the executable or beside one of the three folders above it.
// The error says what was searched.
Result<PythonDawn> load_python_dawn();

}  // namespace sconce::webgpu
