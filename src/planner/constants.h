// The constants of a model on the GPU: which packed forms its operators ask for, and the load Step that makes them.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "ops/contract.h"
#include "planner/step_writer.h"
#include "record/record.h"

namespace sconce::planner {

// Some rows of one constant, and where they go in a part.
struct PackedSource {
  program::Range range;  // the raw bytes of the whole constant
  Shape shape;
  Dtype dtype = Dtype::f32;
  uint32_t first_row = 0, rows = 0;
  uint32_t to_row = 0;
};

// One buffer of the model: the parts of all constants with equal contents and packing are the same.
struct PackedPart {
  std::vector<PackedSource> sources;
  ops::Packing packing = ops::Packing::raw;
  uint32_t first_row = 0, rows = 0;
  uint64_t bytes = 0;              // packed
  uint32_t buffer = graph::kNone;  // in the model's tables
};

class ConstantTable {
 public:
  explicit ConstantTable(const record::Capabilities& capabilities) : capabilities_(capabilities) {}

  // The parts of a constant in a packing, or of several whose rows follow each other: they have one shape but for the
  // number of their rows. New parts are remembered for the load Step.
  Result<std::vector<ops::ConstantPart>> request(std::span<const graph::TensorValue* const> constants,
                                                 ops::Packing packing);

  std::span<const PackedPart> parts() const { return parts_; }
  uint64_t total_bytes() const;

  // A buffer a part in `tables`, and a Step that uploads, repacks and releases its staging buffer. Uploads go in chunks
  // of at most kChunkBytes, so no more of a weight is ever in host memory.
  Result<record::Step> plan_load(record::Tables& tables);
  static constexpr uint64_t kChunkBytes = 16ull << 20;

 private:
  Result<void> add_parts(std::span<const graph::TensorValue* const> constants, ops::Packing packing);
  Result<void> load_packed(const PackedPart& part, const PackedSource& source, StepWriter& writer, uint32_t staging);

  record::Capabilities capabilities_;
  std::vector<PackedPart> parts_;
  std::map<std::pair<std::string, ops::Packing>, std::pair<uint32_t, uint32_t>> index_;  // first part, count
};

}  // namespace sconce::planner
