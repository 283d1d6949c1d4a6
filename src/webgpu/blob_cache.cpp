#include "webgpu/blob_cache.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>
#include <vector>

namespace sconce::webgpu {
namespace {

namespace fs = std::filesystem;

uint64_t hash_of(std::string_view bytes) {  // FNV-1a
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char c : bytes) hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

std::string_view bytes_of(const void* data, size_t size) {
  return {static_cast<const char*>(data), size};
}

// What a file starts with; the key and the value follow.
struct Header {
  char magic[8] = {'S', 'C', 'B', 'L', 'O', 'B', '0', '1'};
  uint64_t key_size = 0, value_size = 0, value_hash = 0;
};

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The value in the bytes of a file, when it is whole and belongs to the key. Two keys may share a hash, thus a file
// name.
std::string_view value_in(std::string_view file, std::string_view key) {
  Header header;
  if (file.size() < sizeof header) return {};
  std::memcpy(&header, file.data(), sizeof header);
  file.remove_prefix(sizeof header);
  if (std::memcmp(header.magic, Header().magic, sizeof header.magic) != 0 || header.key_size != key.size()) return {};
  if (!file.starts_with(key)) return {};
  file.remove_prefix(key.size());
  return header.value_size == file.size() && header.value_hash == hash_of(file) ? file : std::string_view();
}

fs::path default_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache) return fs::path(cache) / "sconce";
  if (const char* home = std::getenv("HOME"); home && *home) return fs::path(home) / ".cache" / "sconce";
  return {};
}

}  // namespace

std::unique_ptr<BlobCache> BlobCache::open(const std::string& folder, const AdapterInfo& adapter) {
  fs::path root = folder.empty() ? default_folder() : fs::path(folder);
  if (root.empty()) return nullptr;
  uint64_t hash = hash_of(fmt::format("{}|{}|{}|{}", adapter.vendor, adapter.name, adapter.driver, adapter.backend));
  std::error_code error;
  fs::path own = root / fmt::format("{:016x}", hash);
  fs::create_directories(own, error);
  if (!fs::is_directory(own, error)) return nullptr;
  std::unique_ptr<BlobCache> cache(new BlobCache(std::move(own)));
  cache->trim();
  return cache;
}

// Removes the files that were written first until half of the room is free, when there is too little.
void BlobCache::trim() {
  struct File {
    fs::file_time_type time;
    uint64_t size;
    fs::path path;
  };
  std::vector<File> files;
  std::error_code error;
  uint64_t total = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
    std::error_code failed;
    File file{entry.last_write_time(failed), entry.file_size(failed), entry.path()};
    if (failed) continue;
    total += file.size;
    files.push_back(std::move(file));
  }
  if (total > kMaxBytes) {
    std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.time < b.time; });
    for (const File& file : files) {
      if (total <= kMaxBytes / 2) break;
      if (fs::remove(file.path, error)) total -= file.size;
    }
  }
  bytes_ = total;
}

dawn::CacheDescriptor BlobCache::descriptor() {
  dawn::CacheDescriptor descriptor;
  descriptor.load = {.callback = &BlobCache::load, .userdata1 = this};
  descriptor.store = {.callback = &BlobCache::store, .userdata1 = this};
  return descriptor;
}

fs::path BlobCache::file_of(std::string_view key) const {
  return folder_ / fmt::format("{:016x}.blob", hash_of(key));
}

size_t BlobCache::load(size_t key_size, const void* key, size_t value_size, void* value, void* cache, void*) {
  if (key_size > dawn::kMaxCacheKeyBytes) return 0;
  std::string_view wanted = bytes_of(key, key_size);
  std::string file = read_file(static_cast<const BlobCache*>(cache)->file_of(wanted));
  std::string_view found = value_in(file, wanted);
  if (value && value_size == found.size()) std::memcpy(value, found.data(), found.size());
  return found.size();
}

void BlobCache::store(size_t key_size, const void* key, size_t value_size, const void* value, void* cache, void*) {
  auto& self = *static_cast<BlobCache*>(cache);
  std::string_view value_bytes = bytes_of(value, value_size);
  Header header;
  uint64_t size = sizeof header + key_size + value_size;
  if (key_size > dawn::kMaxCacheKeyBytes || self.bytes_.fetch_add(size) + size > kMaxBytes) return;
  header.key_size = key_size, header.value_size = value_size, header.value_hash = hash_of(value_bytes);
  fs::path path = self.file_of(bytes_of(key, key_size));
  fs::path unfinished = path.string() + fmt::format(".{}.{}", getpid(), self.writes_.fetch_add(1));
  {
    std::ofstream file(unfinished, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&header), sizeof header);
    file.write(static_cast<const char*>(key), static_cast<std::streamsize>(key_size));
    file.write(value_bytes.data(), static_cast<std::streamsize>(value_size));
  }
  std::error_code error;
  // A short write (a full disk) leaves a smaller file.
  if (fs::file_size(unfinished, error) == size && !error) {
    fs::rename(unfinished, path, error);
  } else {
    fs::remove(unfinished, error);
  }
}

}  // namespace sconce::webgpu
