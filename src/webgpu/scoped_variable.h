// An environment variable that is set for the length of a scope.
#pragma once

#include <cstdlib>
#include <string>

namespace sconce::webgpu {

// Libraries such as the Vulkan loader and Python take some settings from the environment alone. The variable is set
// only while they read it. (The environment belongs to the whole process: no other thread may change it meanwhile.)
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) had_ = true, old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;
  ~ScopedVariable() {
    if (had_) {
      setenv(name_, old_.c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }

 private:
  const char* name_;
  bool had_ = false;
  std::string old_;
};

}  // namespace sconce::webgpu
