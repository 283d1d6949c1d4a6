// From planned commands, which name operands, to the record's commands, which name ids in Tables.
#pragma once

#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "ops/node_plan.h"
#include "record/record.h"

namespace sconce::planner {

// Adds a buffer of `bytes`, rounded up to 16.
uint32_t add_buffer(record::Tables& tables, uint64_t bytes, record::BufferUse use);

// What a planned command became: ids that stay valid as long as its kernel and operands stay the same.
struct Resolved {
  uint32_t pipeline = record::kNone;
  uint32_t bind_group = record::kNone;
  uint32_t from = record::kNone, to = record::kNone;  // of a copy
  bool is_noop = false;                               // a copy of a buffer onto itself: a reshape that shares its bytes
};

// Finds pipelines and bind groups in tables, or adds them: equal content is one id.
class Interner {
 public:
  explicit Interner(record::Tables& tables) : tables_(tables) {}

  // `buffer_of` turns an operand that is not absent into a Result<uint32_t> buffer id.
  template <typename BufferOf>
  Result<Resolved> resolve(const ops::PlannedCommand& command, BufferOf buffer_of) {
    uint32_t buffers[record::kMaxBindings];
    const size_t count = command.kernel ? command.kernel->bindings.size() : 2;
    for (size_t i = 0; i < count; ++i) {
      const ops::Operand& operand = command.operands[i];
      if (operand.kind == ops::Operand::Kind::absent) {
        const bool is_written = command.kernel && command.kernel->bindings[i].access == record::Access::write;
        buffers[i] = is_written ? sink(i) : dummy();
      } else {
        SCONCE_TRY(buffers[i], buffer_of(operand));
      }
    }
    return intern(command, {buffers, count});
  }

  record::Tables& tables() { return tables_; }

 private:
  Result<Resolved> intern(const ops::PlannedCommand& command, std::span<const uint32_t> buffers);
  // What an absent operand binds: 16 bytes that are never written, or, as binding i that its kernel would write, 16
  // bytes that nothing reads.
  uint32_t dummy();
  uint32_t sink(size_t i);

  record::Tables& tables_;
  std::unordered_map<uint64_t, uint32_t> pipelines_;
  std::unordered_multimap<uint64_t, uint32_t> bind_groups_;  // by hash of the content
  uint32_t dummy_ = record::kNone;
  std::map<size_t, uint32_t> sinks_;
};

// One command in its final form. A dispatch's parameters go to `params`, its slot of kParamsBytes.
record::Command make_command(const ops::PlannedCommand& planned, const Resolved& resolved, uint32_t node,
                             uint32_t params_slot, std::byte* params);
// What it finds and leaves in its buffers. `roots` are those of the graph's layout; empty where there is no graph.
record::Uses make_uses(const ops::PlannedCommand& planned, std::span<const uint32_t> roots);

// Writes a Step from its start to its end, as loading and warming up need it.
class StepWriter {
 public:
  explicit StepWriter(record::Tables& tables) : interner_(tables) {}

  void upload(uint32_t source, uint64_t source_offset, uint32_t to, uint64_t to_offset, uint64_t size,
              record::Convert convert);
  void copy(uint32_t from, uint32_t to, uint64_t size);
  void clear(uint32_t buffer, uint64_t size);
  template <typename BufferOf>
  Result<void> append(const ops::NodePlan& plan, uint32_t node, BufferOf buffer_of) {
    for (const ops::PlannedCommand& command : plan.commands()) {
      SCONCE_TRY(Resolved resolved, interner_.resolve(command, buffer_of));
      if (!resolved.is_noop) add(command, resolved, node);
    }
    return {};
  }
  // One phase with all that was written; a params buffer of the right size is in the tables.
  record::Step finish();

 private:
  void add(const ops::PlannedCommand& planned, const Resolved& resolved, uint32_t node);
  void add(const record::Command& command);

  Interner interner_;
  record::Step step_;
  uint32_t slots_ = record::kLiveSlots;
};

// Makes sure that tables.params holds `bytes`: a larger buffer takes the place of one that is too small.
void reserve_params(record::Tables& tables, uint64_t bytes);

}  // namespace sconce::planner
