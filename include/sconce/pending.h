// A result that the GPU is still working on.
#pragma once

#include <memory>

#include "sconce/result.h"

namespace sconce {

template <typename T>
class Pending {
 public:
  // What the library implements; callers use the methods of Pending.
  struct Source {
    virtual ~Source() = default;
    virtual Result<bool> poll() = 0;
    virtual Result<T> wait() = 0;
    virtual void cancel() = 0;
  };

  explicit Pending(std::unique_ptr<Source> source) : source_(std::move(source)) {}
  Pending(Pending&&) noexcept = default;
  Pending& operator=(Pending&&) noexcept = default;
  ~Pending() {
    if (source_) source_->cancel();
  }

  // True when wait() would not block. Lets the GPU's callbacks run.
  Result<bool> poll() { return source_->poll(); }
  // Blocks until the result is there. Call it once.
  Result<T> wait() {
    Result<T> result = source_->wait();
    source_.reset();
    return result;
  }
  // Gives the result up. Work that the GPU has begun is finished (state that it writes stays written); the session can
  // be used again at once.
  void cancel() {
    if (source_) source_->cancel();
    source_.reset();
  }

 private:
  std::unique_ptr<Source> source_;
};

}  // namespace sconce
