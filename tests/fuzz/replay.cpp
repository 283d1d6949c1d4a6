// Runs a fuzz target on files, on each of them cut short, and on each of them with bits flipped, so that every build
// tests what the fuzzer found before. A failure is a crash or a sanitizer's report.
//
//   fuzz_pte_replay FILE_OR_FOLDER...
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "fuzz/fuzz.h"

namespace {

using Bytes = std::vector<uint8_t>;

// A block of exactly this size, so that the address sanitizer sees a read behind its end.
void run(const Bytes& bytes) {
  Bytes exact(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

void replay(const std::filesystem::path& path) {
  constexpr size_t kCut = 64;
  constexpr int kFlips = 500;
  std::ifstream file(path, std::ios::binary);
  const Bytes bytes{std::istreambuf_iterator<char>(file), {}};
  run(bytes);
  for (size_t size = 0; size < bytes.size(); size += kCut)
    run(Bytes(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size)));
  std::mt19937 random(1);  // the same flips in every run
  for (int i = 0; i < kFlips && !bytes.empty(); ++i) {
    Bytes flipped = bytes;
    for (uint32_t flips = 1 + random() % 3; flips > 0; --flips)
      flipped[random() % bytes.size()] ^= 1u << (random() % 8);
    run(flipped);
  }
}

}  // namespace

int main(int count, char** paths) {
  int files = 0;
  for (int i = 1; i < count; ++i) {
    if (!std::filesystem::is_directory(paths[i])) {
      replay(paths[i]);
      ++files;
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(paths[i])) {
      if (!entry.is_regular_file()) continue;
      replay(entry.path());
      ++files;
    }
  }
  std::printf("replayed %d files\n", files);
  return files > 0 ? 0 : 1;
}
