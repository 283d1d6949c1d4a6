// y[i] = silu(gate[i]) * up[i].
//
// gate, up, y: `count` elements. An invocation an element.
// use: grid

@group(0) @binding(0) var<storage, read> gate: array<f32>;
@group(0) @binding(1) var<storage, read> up: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

struct Params {
  count: u32,
}
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = grid_index(workgroup, workgroups) * 64u + lane;
  if (i < params.count) {
    let g = gate[i];
    y[i] = g / (1.0 + exp(-g)) * up[i];
  }
}
