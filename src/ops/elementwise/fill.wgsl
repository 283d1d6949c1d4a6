// y[i] = start + i * step, in f32 or i32; with step 0 a fill with a constant. Words may also hold four equal bytes.
//
// Each invocation writes four words.
// use: grid
// variant: Elem = f32 | i32

@group(0) @binding(0) var<storage, read_write> y: array<vec4<Elem>>;

struct Params {
  count: u32,       // words
  start_bits: u32,  // as bits of an Elem
  step_bits: u32,
}
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = grid_index(workgroup, workgroups) * 256u + lane;
  if (4u * i < params.count) {
    let positions = vec4<Elem>(4u * vec4<u32>(i) + vec4<u32>(0u, 1u, 2u, 3u));
    y[i] = bitcast<Elem>(params.start_bits) + positions * bitcast<Elem>(params.step_bits);
  }
}
