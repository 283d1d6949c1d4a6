// y[coordinates] = x[coordinates . x_strides + wrap(index[coordinates . index_strides]) * index_step], on elements of 4
// bytes: what gather, index_select and indexing with tensors have in common.
//
// The box spans y and holds (size, x stride, index stride). Indices count from the end when negative and are clamped to
// the dim, because an index comes from the GPU and cannot be refused. Each invocation copies one element.
// use: grid, index

@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read> index: array<i32>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;

struct Params {
  count: u32,  // elements of y
  rank: u32,
  index_size: i32,  // of the dim that is indexed
  index_step: u32,  // elements of x between neighbours along it
  dims: array<vec4<u32>, 8>,
}
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = grid_index(workgroup, workgroups) * 256u + lane;
  if (i < params.count) {
    let at = box_offsets(i);
    let given = index[at.y];
    let wrapped = clamp(select(given, given + params.index_size, given < 0), 0, params.index_size - 1);
    y[i] = x[at.x + u32(wrapped) * params.index_step];
  }
}
