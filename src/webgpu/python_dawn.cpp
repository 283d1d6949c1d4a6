#include "webgpu/python_dawn.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "webgpu/scoped_variable.h"

namespace sconce::webgpu {
namespace {

namespace fs = std::filesystem;

#ifdef __APPLE__
constexpr const char* kLibrarySuffix = ".dylib";
#else
constexpr const char* kLibrarySuffix = ".so";
#endif

// ---- where the package may be ----

// venv/lib/python3.11/site-packages, if it holds wgpudawn.
std::vector<fs::path> sites_of_environment(const fs::path& environment) {
  std::vector<fs::path> sites;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(environment / "lib", error)) {
    fs::path site = entry.path() / "site-packages";
    if (fs::is_directory(site / "wgpudawn", error)) sites.push_back(site);
  }
  return sites;
}

fs::path executable_folder() {
  std::error_code error;
  fs::path executable = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : executable.parent_path();
}

struct Search {
  std::vector<fs::path> sites;
  std::string looked_at;  // for the message
};

Search find_sites() {
  Search search;
  if (const char* site = std::getenv("SCONCE_PYTHON_SITE"); site && *site) return {{site}, site};
  auto look = [&](const fs::path& environment) {
    search.looked_at += (search.looked_at.empty() ? "" : ", ") + environment.string();
    for (fs::path& site : sites_of_environment(environment)) search.sites.push_back(std::move(site));
  };
  if (const char* active = std::getenv("VIRTUAL_ENV"); active && *active) look(active);
  fs::path folder = executable_folder();
  for (int level = 0; level <= 3 && !folder.empty() && folder != folder.root_path(); ++level) {
    look(folder / "venv");
    folder = folder.parent_path();
  }
  return search;
}

// ---- the interpreter ----

// The few functions of Python's stable ABI that are needed; found at run time because Sconce does not link Python.
struct Python {
  int (*is_initialized)() = nullptr;
  void (*initialize)(int install_signal_handlers) = nullptr;
  int (*run)(const char* code) = nullptr;
  void* (*save_thread)() = nullptr;
  int (*ensure_gil)() = nullptr;
  void (*release_gil)(int state) = nullptr;
  std::string home;  // where its standard library is: empty when the interpreter runs already
};

bool fill(Python& python, void* library) {
  auto get = [library](auto& to, const char* name) {
    to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(dlsym(library, name));
    return to != nullptr;
  };
  return get(python.is_initialized, "Py_IsInitialized") && get(python.initialize, "Py_InitializeEx") &&
         get(python.run, "PyRun_SimpleString") && get(python.save_thread, "PyEval_SaveThread") &&
         get(python.ensure_gil, "PyGILState_Ensure") && get(python.release_gil, "PyGILState_Release");
}

// The `home` line of pyvenv.cfg is the folder of the interpreter that made the environment; its library is beside it.
fs::path base_library_folder(const fs::path& site) {
  std::ifstream config(site.parent_path().parent_path().parent_path() / "pyvenv.cfg");
  constexpr std::string_view key = "home = ";
  for (std::string line; std::getline(config, line);)
    if (line.starts_with(key)) return fs::path(line.substr(key.size())).parent_path() / "lib";
  return {};
}

// The folder above lib/python3.11 that belongs to the library which holds `function`, or empty. Python ends the process
// when it does not find its standard library, so this is made sure of first.
std::string home_of(void* function, const std::string& version) {
  Dl_info info;
  if (!dladdr(function, &info) || !info.dli_fname) return {};
  std::error_code error;
  fs::path folder = fs::canonical(info.dli_fname, error).parent_path();
  for (; !folder.empty() && folder != folder.root_path(); folder = folder.parent_path())
    if (fs::exists(folder / "lib" / version / "encodings" / "__init__.py", error)) return folder.string();
  return {};
}

// "python3.11": compiled modules such as cffi's belong to one version of Python. It is in the name of the folder above
// site-packages, or, when packages lie elsewhere (pip install --target), in the name of cffi's module.
std::string version_for(const fs::path& site) {
  std::string above = site.parent_path().filename().string();
  if (above.starts_with("python3.")) return above;
  std::error_code error;
  constexpr std::string_view prefix = "_cffi_backend.cpython-3";
  for (const fs::directory_entry& entry : fs::directory_iterator(site, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix))
      return "python3." + name.substr(prefix.size(), name.find('-', prefix.size()) - prefix.size());
  }
  return {};
}

Result<Python> python_for(const fs::path& site) {
  Python python;
  if (fill(python, RTLD_DEFAULT) && python.is_initialized()) return python;  // this process is Python
  const std::string version = version_for(site);
  if (version.empty()) return fail(ErrorCode::not_found, "{} does not hold the package cffi", site.string());
  std::vector<std::string> names;
  for (const char* ending : {".1.0", ""})
    for (const fs::path& folder : {base_library_folder(site), fs::path()})
      names.push_back((folder / ("lib" + version + kLibrarySuffix + ending)).string());
  for (const std::string& name : names) {
    // Global, because extension modules expect to find Python's symbols in the process.
    void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!library || !fill(python, library)) continue;
    python.home = home_of(reinterpret_cast<void*>(python.initialize), version);
    if (!python.home.empty()) return python;
  }
  return fail(ErrorCode::not_found, "lib{}{} is not installed, which {} needs", version, kLibrarySuffix, site.string());
}

// A path as a Python string literal: every byte outside plain letters is escaped.
std::string python_literal(const std::string& path) {
  std::string literal = "b'";
  for (unsigned char c : path) literal += fmt::format("\\x{:02x}", c);
  return literal + "'";
}

// Runs the import and writes the address of wgpuGetProcAddress to `*address`. cffi gives it by ffi.addressof, because
// the symbol itself is hidden. On failure the exception's text goes to `message`.
void import_dawn(const Python& python, const fs::path& site, void** address, char (&message)[512]) {
  std::string code = fmt::format(
      "def sconce_import():\n"
      "    import ctypes, os, sys\n"
      "    sys.path.insert(0, os.fsdecode({}))\n"
      "    try:\n"
      "        from wgpudawn._lib import ffi, lib\n"
      "        value = int(ffi.cast('uintptr_t', ffi.addressof(lib, 'wgpuGetProcAddress')))\n"
      "        ctypes.c_size_t.from_address({}).value = value\n"
      "    except Exception as error:\n"
      "        text = (type(error).__name__ + ': ' + str(error)).encode()[:{}]\n"
      "        ctypes.memmove({}, text, len(text))\n"
      "    finally:\n"
      "        sys.path.pop(0)\n"
      "sconce_import()\n"
      "del sconce_import\n",
      python_literal(site.string()), reinterpret_cast<uintptr_t>(address), sizeof message - 1,
      reinterpret_cast<uintptr_t>(message));
  if (python.is_initialized()) {
    int gil = python.ensure_gil();
    python.run(code.c_str());
    python.release_gil(gil);
  } else {
    ScopedVariable home("PYTHONHOME", python.home);
    python.initialize(0);
    python.run(code.c_str());
    python.save_thread();
  }
}

Result<PythonDawn> load_from_site(const fs::path& site) {
  std::error_code error;
  if (!fs::is_directory(site / "wgpudawn", error))
    return fail(ErrorCode::not_found, "{} holds no folder wgpudawn", site.string());
  SCONCE_TRY(Python python, python_for(site));
  void* address = nullptr;
  char message[512] = {};
  import_dawn(python, site, &address, message);
  if (!address)
    return fail(ErrorCode::not_found, "importing wgpudawn from {} fails with {}", site.string(),
                *message ? message : "no message");
  return PythonDawn{address, site.string()};
}

}  // namespace

Result<PythonDawn> load_python_dawn() {
  Search search = find_sites();
  std::string failures;
  for (const fs::path& site : search.sites) {
    auto dawn = load_from_site(site);
    if (dawn) return dawn;
    failures += (failures.empty() ? "" : "; ") + dawn.error().message;
  }
  if (!failures.empty()) return fail(ErrorCode::not_found, "{}", failures);
  return fail(ErrorCode::not_found, "none of these Python environments holds it: {}",
              search.looked_at.empty() ? "(there is none)" : search.looked_at);
}

}  // namespace sconce::webgpu
