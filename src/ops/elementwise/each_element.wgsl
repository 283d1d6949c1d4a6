// Operands and entry point of a kernel with one operand: y = apply(x), four neighbouring elements an invocation. The
// kernel declares the alias Number, f32 or i32, and apply.
@group(0) @binding(0) var<storage, read> x: array<vec4<Number>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<Number>>;

struct Params {
  count: u32,  // elements
  p: Number,  // the operator's numbers
  q: Number,
}
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = grid_index(workgroup, workgroups) * 256u + lane;
  if (4u * i < params.count) {
    y[i] = apply(x[i]);
  }
}
