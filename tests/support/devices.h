// The devices that tests run on: opened once a process, since opening one takes a fifth of a second.
#pragma once

#include "sconce/device.h"

namespace sconce::test {

enum class Features {
  all,     // all that the adapter has
  gpu,     // the same, with the kernels that a discrete GPU runs
  plain,   // without f16, subgroups and what else an adapter may lack
  narrow,  // all, with bindings of at most 10 KiB, so that constants come in several parts
  small,   // as plain, with at most 8 workgroups a dim of a grid, so that grids fold into two and three dims
};

// The environment variable SCONCE_TEST_DEVICE picks the adapter ("swiftshader"); the best one else. Null, and a test
// failure, when there is none.
Device* device(Features features = Features::all);

}  // namespace sconce::test
