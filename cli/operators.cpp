// sconce operators: the catalogue.
#include "base/error.h"
#include "cli/command.h"
#include "ops/contract.h"

namespace sconce::cli {
namespace {

struct Options {};

Result<ExitCode> operators(const Options&, const GlobalOptions&) {
  for (const ops::OperatorInfo& info : ops::catalog()) fmt::print("{}\n", info.name);
  return kOk;
}

}  // namespace

void add_operators(CLI::App& app, Action& action) {
  auto [command, options] =
      add_command<Options>(app, action, "operators", "List every operator that Sconce runs, a name a line", operators);
  command->footer(R"(The names are those of a delegate's operators ("aten.add.Tensor"); the kernel calls of a program
("aten::add.out") run as the same operators.

Example:
  sconce operators | grep linear)");
}

}  // namespace sconce::cli
