// What the commands share: the global options, the exit codes, and how a command joins the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sconce/device.h"
#include "sconce/model.h"
#include "sconce/result.h"

namespace sconce::cli {

enum ExitCode {
  kOk = 0,
  kFailure = 1,        // an error, told on stderr
  kUsage = 2,          // the command line is wrong
  kInterrupted = 130,  // Ctrl-C, as shells count it
};

struct GlobalOptions {
  std::string device;
  std::vector<std::string> data;
  bool fast = false;
  bool no_fuse = false;
  Precision precision = Precision::exact;
  bool half_caches = false;
  LoweredCapabilities lowered;
  bool quiet = false;
};

// What the chosen command does once the whole command line is parsed.
using Action = std::function<Result<ExitCode>(const GlobalOptions&)>;

// Each adds one command to `app`; when the user calls it, `action` is set.
void add_devices(CLI::App& app, Action& action);
void add_operators(CLI::App& app, Action& action);
void add_inspect(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_generate(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_perplexity(CLI::App& app, Action& action);
void add_profile(CLI::App& app, Action& action);
void add_strip(CLI::App& app, Action& action);

// Adds a command whose options live in an Options of its own; gives both for the caller to describe them.
template <typename Options>
std::pair<CLI::App*, Options*> add_command(CLI::App& app, Action& action, const char* name, const char* description,
                                           Result<ExitCode> (*run)(const Options&, const GlobalOptions&)) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(name, description);
  command->callback([options, run, &action] {
    action = [options, run](const GlobalOptions& globals) { return run(*options, globals); };
  });
  return {command, options.get()};
}

}  // namespace sconce::cli
