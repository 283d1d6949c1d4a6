// y = a OP b, elementwise, as bools; a and b are f32 or i32 and broadcast to y.
//
// y: bytes of 0 or 1. Each invocation makes four neighbouring elements, one word of y. Forms as in binary.wgsl.
// use: grid, index, bytes, operand_pair
// variant: op = eq | ne | lt | le | gt | ge
// variant: Elem = f32 | i32
// variant: form = dense | scalar_right | scalar_left | broadcast

@group(0) @binding(0) var<storage, read> a: array<vec4<Elem>>;
@group(0) @binding(1) var<storage, read> b: array<vec4<Elem>>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;

struct Params {
  count: u32,        // elements of y
  rank: u32,         // of the box
  scalar_bits: u32,  // the number, as bits of an Elem
  dims: array<vec4<u32>, 8>,
}
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = grid_index(workgroup, workgroups) * 256u + lane;
  if (4u * i < params.count) {
    let pair = load_pair(i);
    y[i] = pack_flags(apply(pair.a, pair.b));
  }
}

fn apply(a: vec4<Elem>, b: vec4<Elem>) -> vec4<bool> {
  switch (op) {
    case op_eq: { return a == b; }
    case op_ne: { return !(a == b); }  // true for NaN, where != may be an ordered comparison
    case op_lt: { return a < b; }
    case op_le: { return a <= b; }
    case op_gt: { return a > b; }
    default: { return a >= b; }
  }
}
