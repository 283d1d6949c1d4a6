// A loaded program as a state machine without I/O: the driver runs `load_step` once, then makes sessions.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "planner/constants.h"
#include "planner/method.h"
#include "program/program.h"

namespace sconce::runtime {

struct ModelOptions {
  record::Capabilities capabilities;
  bool fuse = true;          // false: no passes beyond dead nodes; answers agree within tolerance
  bool half_caches = false;  // KV caches of f16, where the device has that
};

class Model {
 public:
  // Prepares every method that computes something; methods that only return constants are metadata.
  static Result<std::unique_ptr<Model>> create(const program::Program& program, const ModelOptions& options);

  const planner::Method* method(std::string_view name) const;
  const std::map<std::string, planner::Method, std::less<>>& methods() const { return methods_; }
  const std::map<std::string, std::vector<int64_t>>& metadata() const { return metadata_; }
  std::span<const planner::PackedPart> constants() const { return constants_.parts(); }
  const planner::ConstantTable& constant_table() const { return constants_; }
  uint64_t constant_bytes() const { return constants_.total_bytes(); }

  record::Tables& tables() { return tables_; }
  record::Step& load_step() { return load_step_; }

 private:
  explicit Model(const ModelOptions& options) : constants_(options.capabilities) {}

  planner::ConstantTable constants_;
  std::map<std::string, planner::Method, std::less<>> methods_;
  std::map<std::string, std::vector<int64_t>> metadata_;  // constant methods: get_max_seq_len and so on
  record::Tables tables_;
  record::Step load_step_;
};

}  // namespace sconce::runtime
