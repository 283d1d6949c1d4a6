// y[i, e] = weight[indices[i], e] * scale[indices[i], e / group_size] of a 4-bit table; a row of NaN where an index is
// outside the table, so that the fault shows.
//
// blocks: as linear/q4_pack.wgsl lays out block_rows rows of the table from block_row on; scales: [rows, groups] from row
// scale_row on. A table in several parts takes several dispatches: each writes its rows [first_row, first_row + rows), the
// one at row 0 also those of NaN.
// indices: [count]; y: [count, width].
// One invocation eight elements of a row: one word of the table.
// use: grid, q4

@group(0) @binding(0) var<storage, read> blocks: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> scales: array<f32>;
@group(0) @binding(2) var<storage, read> indices: array<i32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

struct Params {
  table_rows: u32,
  first_row: u32,
  rows: u32,
  block_row: u32,
  block_rows: u32,
  scale_row: u32,
  width: u32,
  group_size: u32,
  groups: u32,
  count: u32,
  nan: u32,  // bits of a NaN: WGSL has no literal for it
}
@group(1) @binding(0) var<uniform> params: Params;

fn store(token: u32, element: u32, row: u32, value: f32) {
  if (element < params.width) {
    let scale = scales[(row - params.scale_row) * params.groups + min(element / params.group_size, params.groups - 1u)];
    y[token * params.width + element] = value * scale;
  }
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = grid_index(workgroup, workgroups) * 64u + lane;
  let row_words = (params.width + 7u) / 8u;
  let token = i / row_words;
  if (token >= params.count) {
    return;
  }
  let element = i % row_words * 8u;
  // A negative index is a large one after the cast.
  let row = u32(indices[token]);
  if (row >= params.table_rows) {
    if (params.first_row == 0u) {
      for (var e = element; e < min(element + 8u, params.width); e++) {
        y[token * params.width + e] = bitcast<f32>(params.nan);
      }
    }
    return;
  }
  if (row < params.first_row || row - params.first_row >= params.rows) {
    return;
  }
  let block = blocks[element / 32u * params.block_rows + row - params.block_row];
  let word = block[element / 8u % 4u];
  let first = q4_first(word);
  let second = q4_second(word);
  for (var e = 0u; e < 4u; e++) {
    store(token, element + e, row, first[e]);
    store(token, element + 4u + e, row, second[e]);
  }
}
