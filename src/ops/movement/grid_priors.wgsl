// y[h * width + w] = ((w + offset) * stride, (h + offset) * stride): where the anchors of a detector stand.
//
// y: [height * width, 2]. Each invocation makes one pair.
// use: grid

@group(0) @binding(0) var<storage, read_write> y: array<vec2<f32>>;

struct Params {
  count: u32,  // height * width
  width: u32,
  stride: f32,
  offset: f32,
}
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = grid_index(workgroup, workgroups) * 256u + lane;
  if (i < params.count) {
    let place = vec2<f32>(f32(i % params.width), f32(i / params.width));
    y[i] = (place + params.offset) * params.stride;
  }
}
