// y[r, i] = x[r, i] * weight[i] / sqrt(mean_i(x[r, i]^2) + eps), in f32.
//
// x, y: [rows, width]; weight: [width]. One workgroup a row.
// With `divided` the invocations divide the squares and a tree adds their sums. Without, each of the few invocations sums
// the whole row: on a CPU, where invocations are SIMD lanes, that costs less than a barrier.
// With `vectors` the width is a multiple of four, and invocations step by four elements.
// use: grid, workgroup_sum
// limits: invocations = 256, workgroup_bytes = 1024
// variant: divided = false | true
// variant: vectors = false | true
// variant: lanes = 8 | 64 | 256

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> weight: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4<f32>>;

struct Params {
  rows: u32,
  width: u32,
  eps: f32,
}
@group(1) @binding(0) var<uniform> params: Params;

var<workgroup> sums: array<f32, lanes>;

@compute @workgroup_size(lanes)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let row = grid_index(workgroup, workgroups);
  if (row >= params.rows) {
    return;
  }
  var square_sum: f32;
  if (divided) {
    square_sum = workgroup_sum(squares(row, lane, lanes), lane);
  } else {
    square_sum = squares(row, 0u, 1u);
  }
  let scale = inverseSqrt(square_sum / f32(params.width) + params.eps);
  if (vectors) {
    let start = row * (params.width / 4u);
    for (var i = lane; i < params.width / 4u; i += lanes) {
      y[start + i] = x[start + i] * scale * weight[i];
    }
  } else {
    for (var i = lane; i < params.width; i += lanes) {
      let at = row * params.width + i;
      y[at / 4u][at % 4u] = x[at / 4u][at % 4u] * scale * weight[i / 4u][i % 4u];
    }
  }
}

// The sum of the squares of elements (or vectors) first, first + step, ... of a row.
fn squares(row: u32, first: u32, step: u32) -> f32 {
  var sum = 0.0;
  if (vectors) {
    let start = row * (params.width / 4u);
    var sum4 = vec4<f32>();
    for (var i = first; i < params.width / 4u; i += step) {
      let v = x[start + i];
      sum4 += v * v;
    }
    sum = dot(sum4, vec4<f32>(1.0));
  } else {
    for (var i = first; i < params.width; i += step) {
      let at = row * params.width + i;
      let v = x[at / 4u][at % 4u];
      sum += v * v;
    }
  }
  return sum;
}
