// sconce strip: a program without its constants.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/text.h"
#include "program/stripped.h"
#include "webgpu/mapped_file.h"

namespace sconce::cli {
namespace {

struct Options {
  std::string model, output;
};

Result<ExitCode> strip(const Options& options, const GlobalOptions& globals) {
  const std::string path = program_path(options.model).string();
  SCONCE_TRY(auto file, webgpu::MappedFile::open(path));
  std::error_code unknown;
  SCONCE_CHECK(!std::filesystem::equivalent(path, options.output, unknown),
               "'{}' is the program itself; give another file, or its weights would be lost.", options.output);
  auto stripped = program::strip(*file);
  if (!stripped) return std::unexpected(std::move(stripped.error()).within(path));
  const std::vector<std::byte>& bytes = *stripped;
  std::ofstream output(options.output, std::ios::binary);
  output.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!output.flush())
    return fail(ErrorCode::io, "The {} bytes of the stripped program cannot be written to '{}': {}.", bytes.size(),
                options.output, std::strerror(errno));
  if (!globals.quiet)
    fmt::print(stderr, "{} of {} are left in {}.\n", format_bytes(bytes.size()), format_bytes(file->size()),
               options.output);
  return kOk;
}

}  // namespace

void add_strip(CLI::App& app, Action& action) {
  auto [command, options] =
      add_command<Options>(app, action, "strip", "Write a program without its constants, for measurements", strip);
  command->add_option("model", options->model, "A .pte file or a model directory")->required()->type_name("MODEL");
  command->add_option("output", options->output, "The file to write")->required()->type_name("FILE");
  command->footer(
      R"(The result has the whole graph but no weights: small enough to pass on, and good for `inspect` and
`bench --fill-weights`, which makes up weights of the same types and sizes.

Examples:
  sconce strip MODEL_DIR model.stripped
  sconce bench model.stripped --fill-weights --prefill 128,512 --decode 128)");
}

}  // namespace sconce::cli
