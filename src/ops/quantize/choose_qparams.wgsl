// The scale and the zero point of each row of x for int8, by torchao's choose_qparams_affine. With low = min(x, 0) and
// high = max(x, 0) of the row:
//   asymmetric:            scale = (high - low) / (q_max - q_min),  zero_point = q_min - round(low / scale)
//   symmetric:             scale = max(-low, high) / ((q_max - q_min) / 2),  zero_point = (q_max + q_min + 1) / 2
//   symmetric_no_clipping: scale = max(low / q_min, high / q_max),  zero_point likewise
// and the scale at least eps. A number between two rounds to the even one.
//
// x: [rows, width]; scale: [rows]; zero_point: [rows] of bytes, four to a word.
// One workgroup makes the four rows of a word of zero points.
// use: grid, bytes
// variant: mapping = asymmetric | symmetric | symmetric_no_clipping
// limits: workgroup_bytes = 512

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> scale: array<f32>;
@group(0) @binding(2) var<storage, read_write> zero_point: array<u32>;

struct Params {
  rows: u32,
  width: u32,
  q_min: f32,
  q_max: f32,
  eps: f32,
}
@group(1) @binding(0) var<uniform> params: Params;

const lanes = 64u;
var<workgroup> ranges: array<vec2<f32>, lanes>;

// (low, high) of a row, for all invocations.
fn range_of(row: u32, lane: u32) -> vec2<f32> {
  var range = vec2<f32>();
  for (var i = lane; i < params.width; i += lanes) {
    let v = x[row * params.width + i];
    range = vec2<f32>(min(range.x, v), max(range.y, v));
  }
  workgroupBarrier();  // an earlier range has been read by all
  ranges[lane] = range;
  workgroupBarrier();
  for (var half = lanes / 2u; half > 0u; half /= 2u) {
    if (lane < half) {
      let other = ranges[lane + half];
      ranges[lane] = vec2<f32>(min(ranges[lane].x, other.x), max(ranges[lane].y, other.y));
    }
    workgroupBarrier();
  }
  return ranges[0];
}

fn scale_of(range: vec2<f32>) -> f32 {
  var result = 0.0;
  switch (mapping) {
    case mapping_asymmetric: { result = (range.y - range.x) / (params.q_max - params.q_min); }
    case mapping_symmetric: { result = max(-range.x, range.y) / ((params.q_max - params.q_min) / 2.0); }
    default: { result = max(range.x / params.q_min, range.y / params.q_max); }
  }
  return max(result, params.eps);
}

fn zero_point_of(range: vec2<f32>, row_scale: f32) -> i32 {
  if (mapping == mapping_asymmetric) {
    return i32(clamp(params.q_min - round(range.x / row_scale), params.q_min, params.q_max));
  }
  return i32(trunc((params.q_max + params.q_min + 1.0) / 2.0));
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let word = grid_index(workgroup, workgroups);
  var bytes = vec4<u32>();
  for (var i = 0u; i < 4u; i++) {
    let row = min(word * 4u + i, params.rows - 1u);
    let range = range_of(row, lane);
    let row_scale = scale_of(range);
    bytes[i] = u32(zero_point_of(range, row_scale));
    if (lane == 0u && word * 4u + i < params.rows) {
      scale[row] = row_scale;
    }
  }
  if (lane == 0u && word * 4u < params.rows) {
    zero_point[word] = pack_bytes(bytes);
  }
}
