// Compiled pipelines on disk, so that a second start does not compile again.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "sconce/adapter.h"
#include "webgpu/dawn_extras.h"

namespace sconce::webgpu {

// One file a blob in a folder for each adapter and driver; Dawn's key stands for the kernel's text and all that changes
// how it is compiled. A file is written beside its final name and renamed, so that a reader sees all of it or nothing;
// one that is damaged or belongs to another key is not used. A blob that cannot be written is left out: the cache never
// fails.
class BlobCache {
 public:
  static constexpr uint64_t kMaxBytes = 256ull << 20;  // of one adapter's folder; the oldest files go first

  // `folder` empty: $XDG_CACHE_HOME/sconce or ~/.cache/sconce. Null when there is no folder to write to.
  static std::unique_ptr<BlobCache> open(const std::string& folder, const AdapterInfo& adapter);

  // The struct to chain to a device, which refers to this object. Dawn may use it on several threads at once.
  dawn::CacheDescriptor descriptor();

  const std::filesystem::path& folder() const { return folder_; }

 private:
  explicit BlobCache(std::filesystem::path folder) : folder_(std::move(folder)) {}
  static size_t load(size_t key_size, const void* key, size_t value_size, void* value, void* cache, void*);
  static void store(size_t key_size, const void* key, size_t value_size, const void* value, void* cache, void*);
  void trim();
  std::filesystem::path file_of(std::string_view key) const;

  std::filesystem::path folder_;
  std::atomic<uint64_t> bytes_ = 0;   // in the folder, as far as this process knows
  std::atomic<uint64_t> writes_ = 0;  // makes names of unfinished files unique
};

}  // namespace sconce::webgpu
