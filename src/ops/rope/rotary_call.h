// A rotary embedding, for every operator that contains one: its operands, read and checked, and its dispatch.
#pragma once

#include "ops/contract.h"

namespace sconce::ops {

// Queries and keys that turn together, and the tables of cosines and sines, whose rows are positions.
struct RotaryCall {
  TensorArg xq, xk, cos, sin;
  uint64_t steps = 0;  // tokens of each sequence in the batch
  uint64_t head_size = 0;
  uint64_t rotary_size = 0;  // elements of a head that turn, from its first on
  bool halves = false;       // pairs are (i, i + rotary_size / 2), not neighbours
};

// Where the results go: turned queries to q; turned keys to the rows of k from out_row on, and so the values v, unless
// they are absent, to v_out.
struct RotaryTargets {
  Operand q, k;
  Operand v, v_out;
  LiveInteger out_row;
  bool half_kv = false;  // k and v_out are f16
};

// Arguments 0 and 1 are queries and keys, `tables` and the next the tables. With `halves` pairs are (i, i + R/2) and
// the tables have R columns; without, pairs are neighbours that share one of D/2 columns.
Result<RotaryCall> read_rotary_call(const Call& call, size_t tables, bool halves);
// Whether the tables have a row for each token when the first token's is `first_row`.
Result<void> check_table_rows(const RotaryCall& rotary, int64_t first_row);
// Token 0 turns by row `first_row` of the tables.
Result<void> dispatch_rotation(const RotaryCall& rotary, const LiveInteger& first_row, const RotaryTargets& to,
                               NodePlan& plan);

}  // namespace sconce::ops
