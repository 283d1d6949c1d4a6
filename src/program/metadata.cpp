#include "program/program.h"

namespace sconce::program {

std::map<std::string, std::vector<EValue>> metadata(const Program& program) {
  std::map<std::string, std::vector<EValue>> result;
  for (const Method& method : program.methods) {
    if (!method.inputs.empty() || !method.instructions.empty()) continue;
    auto& values = result[method.name];
    for (EValueId id : method.outputs) values.push_back(method.values[id]);
  }
  return result;
}

}  // namespace sconce::program
