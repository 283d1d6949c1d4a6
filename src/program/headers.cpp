#include "program/headers.h"

#include <bit>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "base/math.h"

namespace sconce::program {
namespace {

template <typename T>
T little_endian(std::span<const std::byte> bytes, size_t offset) {
  static_assert(std::endian::native == std::endian::little);
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

bool has_magic(std::span<const std::byte> bytes, size_t offset, std::string_view magic) {
  return bytes.size() >= offset + magic.size() && std::memcmp(bytes.data() + offset, magic.data(), magic.size()) == 0;
}

Result<void> check_inside(uint64_t offset, uint64_t size, uint64_t whole, const char* what) {
  SCONCE_TRY(uint64_t end, checked_end(offset, size, what));
  if (end > whole)
    return fail(ErrorCode::corrupt_file, "The {} ends at byte {}, but there are only {} bytes; the file is cut short.",
                what, end, whole);
  return {};
}

}  // namespace

Result<FileLayout> read_pte_head(std::span<const std::byte> head, uint64_t file_size) {
  if (!has_magic(head, 4, "ET12")) {
    if (has_magic(head, 4, "ET"))
      return fail(ErrorCode::unsupported,
                  "The file is an ExecuTorch program of another version; Sconce reads version 12.");
    return fail(ErrorCode::corrupt_file, "The file is not an ExecuTorch program: it lacks 'ET12' at byte 4.");
  }
  if (!has_magic(head, 8, "eh00")) return FileLayout{.flatbuffer = {0, 0, file_size}, .file_size = file_size};
  if (head.size() < 32) return fail(ErrorCode::corrupt_file, "The file ends inside its extended header.");

  auto header_size = little_endian<uint32_t>(head, 12);
  auto program_size = little_endian<uint64_t>(head, 16);
  auto segment_base = little_endian<uint64_t>(head, 24);
  if (header_size < 24)
    return fail(ErrorCode::corrupt_file, "The extended header says that it has {} bytes; it needs 24.", header_size);
  SCONCE_DO(check_inside(0, program_size, file_size, "program"));
  SCONCE_DO(check_inside(segment_base, 0, file_size, "segment base"));
  if (header_size >= 32 && head.size() >= 40)
    SCONCE_DO(check_inside(segment_base, little_endian<uint64_t>(head, 32), file_size, "segment data"));
  return FileLayout{{0, 0, program_size}, segment_base, file_size};
}

Result<FileLayout> read_ptd_head(std::span<const std::byte> head, uint64_t file_size, uint32_t source) {
  if (!has_magic(head, 4, "FT01") || !has_magic(head, 8, "FH01") || head.size() < 48)
    return fail(ErrorCode::corrupt_file,
                "The data file is not a .ptd file: it lacks 'FT01' and 'FH01' at bytes 4 and 8.");
  auto flatbuffer_offset = little_endian<uint64_t>(head, 16);
  auto flatbuffer_size = little_endian<uint64_t>(head, 24);
  auto segment_base = little_endian<uint64_t>(head, 32);
  SCONCE_DO(check_inside(flatbuffer_offset, flatbuffer_size, file_size, "data file's index"));
  SCONCE_DO(check_inside(segment_base, 0, file_size, "data file's segment base"));
  // The flatbuffer's root offset counts from the start of the file, in front of the header.
  return FileLayout{{source, 0, flatbuffer_offset + flatbuffer_size}, segment_base, file_size};
}

Result<BlobLayout> read_blob_head(std::span<const std::byte> head, Range blob) {
  constexpr uint16_t kHeaderSize = 30;
  if (head.size() < kHeaderSize || !has_magic(head, 4, "VH00"))
    return fail(ErrorCode::corrupt_file,
                "The delegate's data lacks 'VH00' at byte 4; export it for the Vulkan backend.");
  auto header_size = little_endian<uint16_t>(head, 8);
  auto flatbuffer_offset = little_endian<uint32_t>(head, 10);
  auto flatbuffer_size = little_endian<uint32_t>(head, 14);
  auto constants_offset = little_endian<uint32_t>(head, 18);
  auto constants_size = little_endian<uint64_t>(head, 22);
  if (header_size < kHeaderSize || flatbuffer_offset < header_size || flatbuffer_size == 0 ||
      constants_offset < uint64_t{flatbuffer_offset} + flatbuffer_size)
    return fail(ErrorCode::corrupt_file,
                "The parts of the delegate's data overlap: header {}, flatbuffer {}+{}, constants {}.", header_size,
                flatbuffer_offset, flatbuffer_size, constants_offset);
  SCONCE_DO(check_inside(flatbuffer_offset, flatbuffer_size, blob.size, "delegate's flatbuffer"));
  SCONCE_DO(check_inside(constants_offset, constants_size, blob.size, "delegate's constants"));
  if (constants_size == 0) constants_size = blob.size - constants_offset;
  return BlobLayout{{blob.source, blob.offset + flatbuffer_offset, flatbuffer_size},
                    {blob.source, blob.offset + constants_offset, constants_size}};
}

}  // namespace sconce::program
