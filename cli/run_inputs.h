// The inputs of one run, from files, constants and random numbers.
#pragma once

#include <string>
#include <vector>

#include "sconce/model.h"

namespace sconce::cli {

struct InputOptions {
  std::vector<std::string> files;   // .npy: the next input; .safetensors: inputs named 0, 1, ... or in0, in1, ...
  std::vector<std::string> shapes;  // "0=1,17": the live shape of an input that comes from no file
  std::vector<std::string> values;  // "1=5": every element of an input that comes from no file
  bool random = false;              // the rest are random
  uint64_t seed = 0;
  int64_t high = 2;  // random integers are 0 to high - 1
};

// One tensor for each input of the method. Errors: those of the files; invalid_argument for an input without a value.
Result<std::vector<Tensor>> gather_inputs(const MethodInfo& method, const InputOptions& options);

}  // namespace sconce::cli
