// Reading flatbuffers that nobody vouches for: verification, and bounds on what is copied out of them.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace sconce::program {

// A flatbuffer may refer to one table or vector many times, so a small file can describe a huge program. An honest
// writer shares next to nothing: the items copied out are bounded by the bytes that were read.
class ItemBudget {
 public:
  void add_bytes(uint64_t bytes) { left_ += 4 * bytes; }
  Result<void> take(uint64_t items) {
    if (items > left_) return fail(ErrorCode::corrupt_file, "The file describes more values than its size can hold.");
    left_ -= items;
    return {};
  }

 private:
  uint64_t left_ = 4096;
};

// A flatbuffer that passed verification: offsets, vectors and strings lie inside it, and its nesting is bounded.
template <typename Root>
class Flatbuffer {
 public:
  // `what` names the flatbuffer in messages. The bytes are copied only if they are not aligned to 8 bytes, otherwise
  // they must outlive this object.
  static Result<Flatbuffer> verify(std::span<const std::byte> bytes, const char* identifier, const char* what) {
    constexpr flatbuffers::uoffset_t kMaxDepth = 64, kMaxTables = 4'000'000;
    if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
      return fail(ErrorCode::corrupt_file, "The {} has {} bytes; a flatbuffer holds less than 2 GiB.", what,
                  bytes.size());
    if (bytes.size() < 8 || std::memcmp(bytes.data() + 4, identifier, 4) != 0)
      return fail(ErrorCode::corrupt_file, "The {} lacks the identifier '{}' at byte 4.", what, identifier);
    Flatbuffer result;
    result.bytes_ = bytes;
    if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(uint64_t) != 0) {
      result.copy_.resize((bytes.size() + 7) / 8);
      std::memcpy(result.copy_.data(), bytes.data(), bytes.size());
      result.bytes_ = std::as_bytes(std::span(result.copy_)).first(bytes.size());
    }
    flatbuffers::Verifier verifier(result.data(), bytes.size(), kMaxDepth, kMaxTables);
    if (!verifier.VerifyBuffer<Root>(identifier))
      return fail(ErrorCode::corrupt_file, "The {} is not a valid flatbuffer; the file is damaged.", what);
    return result;
  }

  const Root* operator->() const { return flatbuffers::GetRoot<Root>(bytes_.data()); }
  // Where a vector's elements start, counted from the start of the flatbuffer.
  uint64_t offset_of(const void* data) const {
    return static_cast<uint64_t>(static_cast<const std::byte*>(data) - bytes_.data());
  }

 private:
  const uint8_t* data() const { return reinterpret_cast<const uint8_t*>(bytes_.data()); }

  std::vector<uint64_t> copy_;
  std::span<const std::byte> bytes_;
};

// Absent vectors and strings count as empty ones.
template <typename Vector>
uint32_t count(const Vector* vector) {
  return vector ? vector->size() : 0;
}
inline std::string text(const flatbuffers::String* string) {
  return string ? string->str() : std::string();
}

// The elements of a vector of numbers.
template <typename To, typename From>
Result<std::vector<To>> numbers(const flatbuffers::Vector<From>* vector, ItemBudget& budget) {
  SCONCE_DO(budget.take(count(vector)));
  std::vector<To> result;
  result.reserve(count(vector));
  for (uint32_t i = 0; i < count(vector); ++i) result.push_back(static_cast<To>(vector->Get(i)));
  return result;
}

// `index`, if there are more than `index` of them: `what` names one ("segment").
inline Result<uint32_t> checked_index(int64_t index, size_t how_many, const char* what) {
  if (index < 0 || static_cast<uint64_t>(index) >= how_many)
    return fail(ErrorCode::corrupt_file, "The file refers to {} {}, but it has {} of them.", what, index, how_many);
  return static_cast<uint32_t>(index);
}

// A vector of indices into something that has `how_many` elements.
template <typename From>
Result<std::vector<uint32_t>> checked_indices(const flatbuffers::Vector<From>* vector, size_t how_many,
                                              const char* what, ItemBudget& budget) {
  SCONCE_DO(budget.take(count(vector)));
  std::vector<uint32_t> result;
  result.reserve(count(vector));
  for (uint32_t i = 0; i < count(vector); ++i) {
    SCONCE_TRY(uint32_t index, checked_index(vector->Get(i), how_many, what));
    result.push_back(index);
  }
  return result;
}

}  // namespace sconce::program
