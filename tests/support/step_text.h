// A Step as text, a line a command: kernels, grids, parameters and buffers, without the ids that depend on the order in
// which a planner made things. Two Steps that do the same have the same text.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>

#include "kernels.h"
#include "record/record.h"

namespace sconce::test {

class StepText {
 public:
  StepText(const record::Tables& tables, const record::Step& step) : tables_(tables), step_(step) {
    for (size_t i = 0; i < step.commands.size(); ++i) text_ += line(step.commands[i], step.uses[i]) + "\n";
    for (const record::Phase& phase : step.phases) {
      text_ += fmt::format("phase {}+{}", phase.first, phase.count);
      for (const record::ReadBack& read : phase.read_backs)
        text_ += fmt::format(" reads {} bytes of {}", read.size, buffer(read.buffer));
      text_ += "\n";
    }
  }
  const std::string& str() const { return text_; }

 private:
  std::string line(const record::Command& command, const record::Uses& uses) {
    if (command.kind != record::CommandKind::dispatch) {
      const bool is_copy = command.kind == record::CommandKind::copy;
      return fmt::format("{} {} bytes: {}+{} -> {}+{}", is_copy ? "copy" : "write", command.size,
                         is_copy ? buffer(command.from) : "host", command.from_offset, buffer(command.to),
                         command.to_offset);
    }
    const record::Pipeline& pipeline = tables_.pipelines[command.pipeline];
    const record::KernelInfo& kernel = kernels::all()[pipeline.kernel];
    std::string text = fmt::format("node {}: {} {}x{}x{}", command.node, kernel_label(kernel, pipeline.variant),
                                   command.grid[0], command.grid[1], command.grid[2]);
    const record::BindGroup& group = tables_.bind_groups[command.bind_group];
    for (uint32_t i = 0; i < group.count; ++i)
      text += fmt::format(" {}={}:{}", kernel.bindings[i].name, buffer(group.buffers[i]), uses[i].bytes);
    text += " params";
    for (uint32_t i = 0; i < kernel.params_bytes; i += 4) {
      uint32_t word;
      std::memcpy(&word, step_.params.data() + size_t{command.params_slot} * record::kParamsBytes + i, 4);
      text += fmt::format(" {:x}", word);
    }
    return text;
  }

  // By kind and order of appearance.
  std::string buffer(uint32_t id) {
    auto [found, added] = names_.try_emplace(id);
    if (added)
      found->second = fmt::format("{}{}", "cxsaupgr"[static_cast<size_t>(tables_.buffers[id].use)], names_.size());
    return found->second;
  }

  const record::Tables& tables_;
  const record::Step& step_;
  std::map<uint32_t, std::string> names_;
  std::string text_;
};

inline std::string text(const record::Tables& tables, const record::Step& step) {
  return StepText(tables, step).str();
}

}  // namespace sconce::test
