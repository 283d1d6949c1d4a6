// Copies a box of elements: to[to_offset + coordinates . to_strides] = from[from_offset + coordinates . from_strides].
//
// A unit is an element of 4 bytes, or four of them when they lie side by side in both tensors. Strides and offsets count
// units; the box holds (size, from stride, to stride). Each invocation copies one unit.
// use: grid, index
// variant: Unit = u32 | vec4u

@group(0) @binding(0) var<storage, read> from_units: array<Unit>;
@group(0) @binding(1) var<storage, read_write> to_units: array<Unit>;

struct Params {
  count: u32,  // units of the box
  rank: u32,
  from_offset: u32,
  to_offset: u32,
  dims: array<vec4<u32>, 15>,
}
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = grid_index(workgroup, workgroups) * 256u + lane;
  if (i < params.count) {
    let at = box_offsets(i);
    to_units[params.to_offset + at.y] = from_units[params.from_offset + at.x];
  }
}
