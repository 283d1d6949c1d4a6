// Where the GPU's time goes.
#pragma once

#include <cstdio>
#include <vector>

#include "sconce/model.h"

namespace sconce::cli {

// A table, the most expensive kernel first: dispatches, time, the live bytes that it binds a
// second (a cache counts as a whole, however little of it is read), and share of the total.
void print_profile(std::FILE* to, const std::vector<KernelTime>& dispatches);

}  // namespace sconce::cli
