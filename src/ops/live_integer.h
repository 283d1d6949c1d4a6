// Integers that advance from run to run, such as the position of a decode step, without a node being planned anew.
#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace sconce::ops {

// A SymInt, or a literal, that a kernel looks up when it runs: live(entry) + addend is its value now.
struct LiveInteger {
  int64_t value = 0;
  graph::ValueId symint = graph::kNone;  // kNone: a literal
  uint32_t entry = 0;                    // of the table of live integers (record.h)
  uint32_t addend = 0;
};

// While this SymInt lies in [low, high] and nothing else changes, a plan stays as it is.
struct Hold {
  graph::ValueId symint = graph::kNone;
  int32_t low = 0, high = 0;
};

}  // namespace sconce::ops
