// y[i, :] = weight[indices[i], :]; a row of NaN where an index is outside the table, so that the fault shows.
//
// weight: [rows, width]; indices: [count]; y: [count, width].
// One invocation an element.
// use: grid

@group(0) @binding(0) var<storage, read> weight: array<f32>;
@group(0) @binding(1) var<storage, read> indices: array<i32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

struct Params {
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
  if (row < params.rows) {
    y[i] = weight[row * params.width + i % params.width];
  } else {
    y[i] = bitcast<f32>(params.nan);
  }
}
