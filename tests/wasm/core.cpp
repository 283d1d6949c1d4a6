// The whole core in one WebAssembly module: reading a program, planning it and one run of it. Linking it shows that the
// core asks nothing of its host beyond what check_imports.py allows.
#include "program/reader.h"
#include "runtime/generation.h"
#include "runtime/session.h"

namespace {

using namespace sconce;

class Memory final : public program::ByteSource {
 public:
  explicit Memory(std::span<const std::byte> bytes) : bytes_(bytes) {}
  uint64_t size() const override { return bytes_.size(); }
  Result<std::span<const std::byte>> read(uint64_t offset, uint64_t size) override {
    if (offset > bytes_.size() || size > bytes_.size() - offset)
      return fail(ErrorCode::io, "The program ends after {} bytes.", bytes_.size());
    return bytes_.subspan(offset, size);
  }

 private:
  std::span<const std::byte> bytes_;
};

Result<size_t> plan(std::span<const std::byte> pte, std::span<const TensorView> inputs) {
  Memory source(pte);
  SCONCE_TRY(program::Program program, program::read_program(source));
  SCONCE_TRY(auto model, runtime::Model::create(program, {}));
  runtime::Session session(*model, model->methods().begin()->second);
  SCONCE_DO(session.start(inputs));
  return session.commit().commands.size();
}

}  // namespace

// Commands that one run of the program's first method plans, or -1.
extern "C" [[clang::export_name("sconce_plan")]] int sconce_plan(const std::byte* pte, size_t size) {
  Result<size_t> commands = plan({pte, size}, {});
  return commands ? static_cast<int>(*commands) : -1;
}

// Tokens of a prompt that the first run takes, or -1.
extern "C" [[clang::export_name("sconce_first_feed")]] int sconce_first_feed(const int32_t* tokens, size_t count) {
  runtime::Generation generation(255, 512);
  if (!generation.begin({tokens, count}, {})) return -1;
  return static_cast<int>(generation.next()->tokens.size());
}
