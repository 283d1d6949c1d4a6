// y = condition ? a : b, elementwise, on elements of 4 bytes of any kind; the three operands broadcast to y.
//
// condition: bytes, four to a word; a, b, y: words. Each invocation makes four neighbouring elements of y. With `dense`
// all operands have y's shape; else the box gives the strides of condition, a and b.
// use: grid, index, bytes
// variant: dense = false | true

@group(0) @binding(0) var<storage, read> condition: array<u32>;
@group(0) @binding(1) var<storage, read> a: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> b: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> y: array<vec4<u32>>;

struct Params {
  count: u32,  // elements of y
  rank: u32,   // of the box
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
  if (dense) {
    y[i] = select(b[i], a[i], unpack_bytes(condition[i]) != vec4<u32>(0u));
  } else {
    var chosen = vec4<u32>();
    for (var k = 0u; k < 4u; k++) {
      let at = box_offsets(min(4u * i + k, params.count - 1u));
      let first = byte_of(condition[at.x / 4u], at.x) != 0u;
      chosen[k] = select(b[at.z / 4u][at.z % 4u], a[at.y / 4u][at.y % 4u], first);
    }
    y[i] = chosen;
  }
}
