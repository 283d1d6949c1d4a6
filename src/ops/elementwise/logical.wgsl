// y = a OP b on bools, elementwise; a and b broadcast to y.
//
// a, b, y: bytes of 0 or 1, four to a word; each invocation makes one word of y. Forms as in binary.wgsl.
// use: grid, index, bytes
// variant: op = both | either | differ
// variant: form = dense | scalar_right | scalar_left | broadcast

@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;

struct Params {
  count: u32,        // elements of y
  rank: u32,         // of the box
  scalar_bits: u32,  // 0 or 1
  dims: array<vec4<u32>, 8>,
}
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = grid_index(workgroup, workgroups) * 256u + lane;
  if (4u * i >= params.count) {
    return;
  }
  let scalar = params.scalar_bits * 0x01010101u;
  if (form == form_dense) {
    y[i] = apply(a[i], b[i]);
  } else if (form == form_scalar_right) {
    y[i] = apply(a[i], scalar);
  } else if (form == form_scalar_left) {
    y[i] = apply(scalar, b[i]);
  } else {
    var bytes_a = vec4<u32>();
    var bytes_b = vec4<u32>();
    for (var k = 0u; k < 4u; k++) {
      let at = box_offsets(min(4u * i + k, params.count - 1u));
      bytes_a[k] = byte_of(a[at.x / 4u], at.x);
      bytes_b[k] = byte_of(b[at.y / 4u], at.y);
    }
    y[i] = apply(pack_bytes(bytes_a), pack_bytes(bytes_b));
  }
}

fn apply(a: u32, b: u32) -> u32 {
  switch (op) {
    case op_both: { return a & b; }
    case op_either: { return a | b; }
    default: { return a ^ b; }
  }
}
