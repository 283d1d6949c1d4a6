// Prints a digest of the bytes of each Step that the operator cases given as arguments plan: on the device that has the
// least that WebGPU allows, of the load Step, the warm-up, and the first run that does not fail.
// web/test/step_bytes.mjs compares them with those of the WebAssembly module.
//
//   step_bytes tests/fixtures/ops/matmul/mm_k.pte ...
#include <cstddef>

#include "base/sha256.h"
#include "runtime/session.h"
#include "support/case_file.h"
#include "webgpu/mapped_file.h"

namespace sconce {
namespace {

// Without the padding at its end.
constexpr size_t kCommandBytes = offsetof(record::Command, convert) + sizeof(record::Command::convert);

template <typename T>
void append(std::vector<std::byte>& bytes, std::span<const T> items) {
  const auto more = std::as_bytes(items);
  bytes.insert(bytes.end(), more.begin(), more.end());
}

std::string digest(const record::Tables& tables, const record::Step& step, size_t phase) {
  std::vector<std::byte> bytes;
  append(bytes, std::span<const record::Buffer>(tables.buffers));
  append(bytes, std::span<const record::Pipeline>(tables.pipelines));
  append(bytes, std::span<const record::BindGroup>(tables.bind_groups));
  for (const record::Command& command :
       std::span(step.commands).subspan(step.phases[phase].first, step.phases[phase].count))
    append(bytes, std::as_bytes(std::span(&command, 1)).first(kCommandBytes));
  append(bytes, std::span<const std::byte>(step.params));
  append(bytes, std::span<const std::byte>(step.host_bytes));
  return sha256_hex(bytes);
}

Result<std::string> digests(const test::CaseFile& file) {
  SCONCE_TRY(webgpu::ProgramFiles files, webgpu::open_program(file.program.string(), file.data_files));
  SCONCE_TRY(auto model, runtime::Model::create(files.program, {}));
  std::string text = digest(model->tables(), model->load_step(), 0);
  runtime::Session session(*model, *model->method("forward"));
  const record::Step warm_up = session.warm_up();
  text += " " + digest(session.tables(), warm_up, 0);
  for (const test::CaseRun& run : file.runs) {
    if (run.fails) continue;
    SCONCE_DO(session.start(std::vector<TensorView>(run.inputs.begin(), run.inputs.end())));
    const record::Step& step = session.commit();
    return text + " " + digest(session.tables(), step, 0);
  }
  return text;
}

}  // namespace
}  // namespace sconce

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    auto file = sconce::test::read_case(arguments[i]);
    auto text = file ? sconce::digests(*file) : std::unexpected(file.error());
    fmt::print("{}\n", text ? *text : text.error().to_string());
  }
}
