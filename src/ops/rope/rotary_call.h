// The operands of a rotary embedding, read and checked, for every operator that contains one.
#pragma once

#include "ops/contract.h"

namespace sconce::ops {

// Queries and keys that turn together, and the tables of cosines and sines, whose rows are positions.
struct RotaryCall {
  TensorArg xq, xk, cos, sin;
  uint64_t steps = 0;  // tokens of each sequence in the batch
  uint64_t head_size = 0;
  uint64_t rotary_size = 0;  // elements of a head that turn, from its first on
};

// Arguments 0 and 1 are queries and keys, `tables` and the next the tables. With `halves` pairs are (i, i + R/2) and
// the tables have R columns; without, pairs are neighbours that share one of D/2 columns.
Result<RotaryCall> read_rotary_call(const Call& call, size_t tables, bool halves);
// Whether the tables have a row for each token when the first token's is `first_row`.
Result<void> check_table_rows(const RotaryCall& rotary, int64_t first_row);

}  // namespace sconce::ops
