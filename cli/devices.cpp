// sconce devices: the adapters that a model could run on.
#include "base/error.h"
#include "cli/command.h"
#include "cli/load.h"
#include "cli/terminal.h"
#include "cli/text.h"

namespace sconce::cli {
namespace {

struct Options {
  bool json = false;
};

void print(const AdapterInfo& adapter, bool chosen) {
  const AdapterLimits& limits = adapter.limits;
  fmt::print("{} {}\n", chosen ? "*" : " ", adapter.to_string());
  fmt::print("    features  {}\n",
             adapter.features.empty() ? "none" : fmt::format("{}", fmt::join(adapter.features, ", ")));
  fmt::print("    buffers   up to {}, of which a shader sees {} in each of {} bindings\n",
             format_bytes(limits.max_buffer_bytes), format_bytes(limits.max_storage_binding_bytes),
             limits.max_storage_buffers);
  fmt::print("    workgroup {} invocations, {} of memory, {} workgroups a dimension\n",
             limits.max_invocations_per_workgroup, format_bytes(limits.max_workgroup_storage_bytes),
             limits.max_workgroups_per_dimension);
  if (limits.subgroup_max_size != 0)
    fmt::print("    subgroup  {} to {} invocations\n", limits.subgroup_min_size, limits.subgroup_max_size);
}

Result<ExitCode> devices(const Options& options, const GlobalOptions& globals) {
  auto listed = [] {
    const SilencedStderr silenced;
    return Device::list();
  }();
  SCONCE_TRY(std::vector<AdapterInfo> adapters, std::move(listed));
  GlobalOptions quietly = globals;
  quietly.quiet = true;
  SCONCE_TRY(Device device, open_device(quietly));
  const std::string chosen = device.adapter().to_string();
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  bool found = false;
  for (const AdapterInfo& adapter : adapters) {
    const bool is_chosen = !found && adapter.to_string() == chosen;
    found = found || is_chosen;
    if (options.json) {
      list.push_back(to_json(adapter));
      list.back()["chosen"] = is_chosen;
    } else {
      print(adapter, is_chosen);
    }
  }
  if (options.json)
    print_json(list);
  else
    fmt::print("\n* is what other commands use{}.\n",
               globals.device.empty() ? "; --device SELECTOR chooses another" : " with this --device");
  return kOk;
}

}  // namespace

void add_devices(CLI::App& app, Action& action) {
  auto [command, options] = add_command<Options>(
      app, action, "devices", "List the adapters of this machine in order of preference, with features and limits",
      devices);
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(R"(Examples:
  sconce devices
  sconce devices --device swiftshader     shows which adapter that selector means)");
}

}  // namespace sconce::cli
