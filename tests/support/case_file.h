// The operator cases that tools/fixtures writes: a program, and the inputs and goldens of its runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sconce/result.h"
#include "sconce/tensor.h"
#include "support/compare.h"

namespace sconce::test {

struct CaseRun {
  std::vector<Tensor> inputs, goldens;
  bool fails = false;  // it must give an error and change nothing
};

struct CaseFile {
  std::string name;  // "elementwise/abs"
  std::filesystem::path program;
  std::vector<std::string> data_files;  // .ptd files with constants of the program
  Tolerance tolerance;
  bool stateful = false;  // the runs depend on each other
  bool loads = true;      // false: loading it must give an error
  std::vector<CaseRun> runs;
};

// Those in the repository (tests/fixtures/ops), and the large ones that were generated (build/fixtures/ops).
enum class Cases { committed, generated };
// The programs of these cases in the order of their names.
std::vector<std::filesystem::path> find_cases(Cases cases);
// "elementwise/abs" of its program's path.
std::string case_name(const std::filesystem::path& program);

Result<CaseFile> read_case(const std::filesystem::path& program);

}  // namespace sconce::test
