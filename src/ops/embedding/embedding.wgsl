// y[i, :] = weight[indices[i], :]; a row of NaN where an index is outside the table, so that the fault shows.
//
// weight: rows [first_row, first_row + rows) of the table, by `width`; a table in several parts takes a dispatch each, and
// each writes the rows that it holds, the one at row 0 also those of NaN.
// indices: [count]; y: [count, width].
// One invocation an element.
// use: grid

@group(0) @binding(0) var<storage, read> weight: array<f32>;
@group(0) @binding(1) var<storage, read> indices: array<i32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

struct Params {
  table_rows: u32,
  first_row: u32,
  rows: u32,
  width: u32,
  count: u32,
  nan: u32,  // bits of a NaN: WGSL has no literal for it
}
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = grid_index(workgroup, workgroups) * 64u + lane;
  if (i >= params.count * params.width) {
    return;
  }
  // A negative index is a large one after the cast.
  let row = u32(indices[i / params.width]);
  if (row >= params.table_rows) {
    if (params.first_row == 0u) {
      y[i] = bitcast<f32>(params.nan);
    }
  } else if (row >= params.first_row && row - params.first_row < params.rows) {
    y[i] = weight[(row - params.first_row) * params.width + i % params.width];
  }
}
