// Fuzz target: any bytes as a .ptd file.
#include "fuzz/fuzz.h"
#include "program/parse.h"

namespace sconce {
namespace {

Result<void> read(std::span<const std::byte> bytes) {
  using namespace program;
  SCONCE_TRY(FileLayout layout,
             read_ptd_head(bytes.first(std::min<size_t>(bytes.size(), kFileHeadSize)), bytes.size(), 1));
  ItemBudget budget;
  budget.add_bytes(bytes.size());
  NamedData named_data;
  return parse_named_data(bytes.subspan(layout.flatbuffer.offset, layout.flatbuffer.size), layout, budget, named_data);
}

}  // namespace
}  // namespace sconce

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)sconce::read(sconce::test::bytes_of(data, size));
  return 0;
}
