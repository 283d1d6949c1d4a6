// y = OP(x), elementwise, on i32; p and q are the bounds of clamp.
//
// Each invocation makes four neighbouring elements.
// use: grid
// variant: op = abs | neg | sign | relu | clamp

@group(0) @binding(0) var<storage, read> x: array<vec4<i32>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<i32>>;

struct Params {
  count: u32,  // elements
  p: i32,
  q: i32,
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

fn apply(x: vec4<i32>) -> vec4<i32> {
  switch (op) {
    case op_abs: { return abs(x); }
    case op_neg: { return -x; }
    case op_sign: { return sign(x); }
    case op_relu: { return max(x, vec4<i32>(0)); }
    default: { return min(max(x, vec4<i32>(params.p)), vec4<i32>(params.q)); }  // clamp
  }
}
