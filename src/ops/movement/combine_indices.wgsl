// sum[i] += wrap(index[i . index_strides]) * index_step: several index tensors become one of element offsets.
//
// The box spans the shape that the index tensors broadcast to and holds (size, index stride). With `first` the sum
// starts. Each invocation makes one offset.
// use: grid, index
// variant: first = false | true

@group(0) @binding(0) var<storage, read> index: array<i32>;
@group(0) @binding(1) var<storage, read_write> sum: array<i32>;

struct Params {
  count: u32,
  rank: u32,
  index_size: i32,
  index_step: i32,
  dims: array<vec4<u32>, 8>,
}
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = grid_index(workgroup, workgroups) * 256u + lane;
  if (i >= params.count) {
    return;
  }
  let given = index[box_offsets(i).x];
  let offset = clamp(select(given, given + params.index_size, given < 0), 0, params.index_size - 1) * params.index_step;
  if (first) {
    sum[i] = offset;
  } else {
    sum[i] += offset;
  }
}
