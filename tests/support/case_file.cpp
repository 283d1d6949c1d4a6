#include "support/case_file.h"

#include <algorithm>
#include <sstream>

#include "base/error.h"
#include "io/files.h"
#include "io/tensor_files.h"

namespace sconce::test {
namespace {

namespace fs = std::filesystem;

// "0.in2" and "0.out1" become inputs and goldens of run 0, in order.
std::vector<Tensor> numbered(const io::NamedTensors& tensors, size_t run, const char* kind) {
  std::vector<Tensor> result;
  for (;;) {
    auto found = tensors.find(fmt::format("{}.{}{}", run, kind, result.size()));
    if (found == tensors.end()) return result;
    result.push_back(found->second);
  }
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items;
  std::istringstream stream(list);
  for (std::string item; std::getline(stream, item, ',');) items.push_back(item);
  return items;
}

}  // namespace

std::vector<fs::path> find_cases(Cases cases) {
  const fs::path folder = cases == Cases::committed ? SCONCE_FIXTURES "/ops" : SCONCE_GENERATED_FIXTURES "/ops";
  std::vector<fs::path> programs;
  if (!fs::exists(folder)) return programs;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".pte") programs.push_back(entry.path());
  std::ranges::sort(programs, {}, case_name);
  return programs;
}

std::string case_name(const fs::path& program) {
  return program.parent_path().filename().string() + "/" + program.stem().string();
}

Result<CaseFile> read_case(const fs::path& program) {
  const fs::path data = fs::path(program).replace_extension(".safetensors");
  SCONCE_TRY(std::vector<std::byte> bytes, io::read_file(data));
  SCONCE_TRY(io::NamedTensors tensors, io::parse_safetensors(bytes));
  SCONCE_TRY(auto metadata, io::parse_safetensors_metadata(bytes));

  CaseFile file;
  file.name = case_name(program);
  file.program = program;
  for (fs::path data;
       fs::exists(data = fs::path(program).replace_extension(fmt::format("{}.ptd", file.data_files.size())));)
    file.data_files.push_back(data.string());
  file.tolerance = {std::stod(metadata["atol"]), std::stod(metadata["rtol"])};
  file.stateful = metadata["stateful"] == "true";
  file.loads = metadata["loads"] == "true";
  file.runs.resize(std::stoul(metadata["runs"]));
  for (size_t run = 0; run < file.runs.size(); ++run) {
    file.runs[run].inputs = numbered(tensors, run, "in");
    file.runs[run].goldens = numbered(tensors, run, "out");
  }
  for (const std::string& run : split(metadata["fails"])) file.runs.at(std::stoul(run)).fails = true;
  return file;
}

}  // namespace sconce::test
