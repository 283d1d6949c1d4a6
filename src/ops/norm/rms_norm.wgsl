// y[r, i] = x[r, i] * weight[i] / sqrt(mean_i(x[r, i]^2) + eps), in f32.
//
// x, y: [rows, width]; weight: [width].
// One workgroup a row: each invocation sums the squares of every 64th element, a tree adds the 64 sums.
// use: grid
// limits: workgroup_bytes = 256

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> weight: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

struct Params {
  rows: u32,
  width: u32,
  eps: f32,
}
@group(1) @binding(0) var<uniform> params: Params;

const lanes = 64u;
var<workgroup> sums: array<f32, lanes>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let row = grid_index(workgroup, workgroups);
  if (row >= params.rows) {
    return;
  }
  let start = row * params.width;
  var sum = 0.0;
  for (var i = lane; i < params.width; i += lanes) {
    let v = x[start + i];
    sum += v * v;
  }
  sums[lane] = sum;
  workgroupBarrier();
  for (var half = lanes / 2u; half > 0u; half /= 2u) {
    if (lane < half) {
      sums[lane] += sums[lane + half];
    }
    workgroupBarrier();
  }
  let scale = inverseSqrt(sums[0] / f32(params.width) + params.eps);
  for (var i = lane; i < params.width; i += lanes) {
    y[start + i] = x[start + i] * scale * weight[i];
  }
}
