// sconce: the command line.
#include <cstdio>

#include "base/error.h"
#include "cli/command.h"
#include "cli/terminal.h"

namespace sconce::cli {
namespace {

constexpr const char* kDescription =
    "Sconce runs programs exported by ExecuTorch (.pte) on any GPU through WebGPU, at any live shape.";

constexpr const char* kFooter = R"(Examples:
  sconce devices                                what this machine can run on
  sconce inspect model.pte                      what a program takes, gives and needs
  sconce run model.pte --random --shape 0=1,17  one run at a live shape of your choice
  sconce generate MODEL_DIR "Why is the sky blue?"
  sconce generate MODEL_DIR --chat
  sconce bench MODEL_DIR --prefill 37,128 --decode 64
  sconce perplexity MODEL_DIR page.txt          how well it predicts a text
  sconce profile MODEL_DIR --trace trace.json   where its time goes, kernel by kernel

`sconce COMMAND --help` tells more about each command.
Exit codes: 0 done, 1 an error (told on stderr), 2 a wrong command line, 130 interrupted by Ctrl-C.)";

void add_global_options(CLI::App& app, GlobalOptions& globals) {
  app.add_option("--device", globals.device,
                 "The adapter to use: discrete, integrated, software, or a part of its name, vendor or driver")
      ->type_name("SELECTOR");
  app.add_flag("--fast", globals.fast,
               "Turn WebGPU's checks off: faster, but a defect inside the GPU API may end the process");
  app.add_option("--data", globals.data, "A .ptd file with constants of the program; may be given several times")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--no-fuse", globals.no_fuse, "Run the program's operators one by one, without fusing them");
  app.add_option_function<std::string>(
         "--precision",
         [&globals](const std::string& name) {
           globals.precision = name == "fast" ? Precision::fast : Precision::exact;
         },
         "exact, or fast: where the device is faster with them, products of quantized linears are of f16")
      ->check(CLI::IsMember({"exact", "fast"}))
      ->type_name("PRECISION");
  app.add_flag("--half-caches", globals.half_caches,
               "Hold KV caches as f16 where the device can: half the memory, rounded keys and values");
  app.add_flag_callback(
      "--no-subgroups", [&globals] { globals.lowered.subgroups = false; }, "Use the device as if it had no subgroups");
  app.add_flag_callback(
      "--no-f16", [&globals] { globals.lowered.f16 = false; }, "Use the device as if it had no f16");
  app.add_flag("--quiet", globals.quiet, "Print nothing on stderr except errors");
}

// Prints help (to stdout) or what is wrong with the command line (to stderr).
ExitCode explain(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError) && app.get_subcommands().empty())
    for (int i = 1; i < argc; ++i)
      if (argv[i][0] != '-') {
        fmt::print(stderr, "error: There is no command '{}'; `sconce --help` lists them.\n", argv[i]);
        return kUsage;
      }
  return app.exit(error) == 0 ? kOk : kUsage;
}

ExitCode run(int argc, char** argv) {
  keep_standard_streams();
  CLI::App app(kDescription, "sconce");
  GlobalOptions globals;
  Action action;
  add_global_options(app, globals);
  app.set_version_flag("--version", "sconce " SCONCE_VERSION);
  app.require_subcommand(1);
  app.fallthrough();  // global options may follow the command
  app.footer(kFooter);
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return fmt::format("error: {}\nSee `sconce --help` and `sconce COMMAND --help`.\n", error.what());
  });
  for (auto add : {add_devices, add_operators, add_inspect, add_run, add_generate, add_bench, add_perplexity,
                   add_profile, add_strip})
    add(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return explain(app, error, argc, argv);
  }

  catch_interrupts();
  Result<ExitCode> result = action(globals);
  if (result && !stdout_is_written())
    result = fail(ErrorCode::io, "The results cannot be written to stdout; is the disk full?");
  if (result) return *result;
  if (result.error().code == ErrorCode::cancelled && interrupted()) {
    std::fputs("Interrupted.\n", stderr);
    return kInterrupted;
  }
  std::fprintf(stderr, "error: %s\n", result.error().to_string().c_str());
  return kFailure;
}

}  // namespace
}  // namespace sconce::cli

int main(int argc, char** argv) {
  return sconce::cli::run(argc, argv);
}
