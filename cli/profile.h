// Where the GPU's time goes.
#pragma once

#include <vector>

#include "sconce/model.h"

namespace sconce::cli {

// A table on stderr, the most expensive kernel first: dispatches, time and share of the total.
void print_profile(const std::vector<KernelTime>& dispatches);

}  // namespace sconce::cli
