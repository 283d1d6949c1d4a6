// From a path to a loaded model, with what the user wants to see on the way.
#pragma once

#include <filesystem>
#include <string>

#include "cli/command.h"
#include "sconce/model.h"

namespace sconce::cli {

// A model is named by its .pte file or by the model directory that holds model.pte.
std::filesystem::path program_path(const std::string& model);

// Opens the device that the global options choose. A software adapter is announced on stderr unless it must be quiet.
Result<Device> open_device(const GlobalOptions& globals);

// Loads with a progress bar; Ctrl-C cancels it.
Result<Model> load_model(Device& device, const std::string& model, const GlobalOptions& globals,
                         bool fill_weights = false);

}  // namespace sconce::cli
