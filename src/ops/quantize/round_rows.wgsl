// y = (clamp(round(x / scale) + zero_point, -128, 127) - zero_point) * scale, with a scale and a zero point for each row:
// what is left of x after it was held as int8. A number between two rounds to the even one, and 1 / scale is a factor, as
// in torchao's quantize_affine.
//
// x, y: [rows, width]; scale: [rows]; zero_point: [rows] of signed bytes, four to a word.
// One invocation an element.
// use: grid, bytes

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> scale: array<f32>;
@group(0) @binding(2) var<storage, read> zero_point: array<u32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

struct Params {
  count: u32,  // elements
  width: u32,
}
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = grid_index(workgroup, workgroups) * 64u + lane;
  if (i >= params.count) {
    return;
  }
  let row = i / params.width;
  let zero = f32(i32(byte_of(zero_point[row / 4u], row) << 24u) >> 24u);
  let rounded = clamp(round(x[i] * (1.0 / scale[row])) + zero, -128.0, 127.0);
  y[i] = (rounded - zero) * scale[row];
}
