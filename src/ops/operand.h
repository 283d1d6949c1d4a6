// What a dispatch binds.
#pragma once

#include <cstdint>

namespace sconce::ops {

// A tensor, scratch memory or a packed constant as one storage binding; the planner turns it into a buffer id.
struct Operand {
  enum class Kind : uint8_t {
    absent,   // an optional operand that is not there: a shared read-only dummy is bound
    value,    // a tensor value of the graph
    scratch,  // scratch block `id` of this node, undefined at its start
    packed,   // packed constant `id` of the model (Call::constant)
  };
  Kind kind = Kind::absent;
  uint32_t id = 0;
  uint64_t bytes = 0;  // live bytes: what lies past them is undefined
};

}  // namespace sconce::ops
