// y[r, i] = (x[r, i] - mean_r) * rstd_r * weight[c] + bias[c], with the mean and 1 / sqrt(variance + eps) of each row:
// layer norm and group norm.
//
// x, y: [rows, width]; mean, rstd: [rows]. The channel is c = (r % groups) * (width / inner) + i / inner: for a layer norm
// groups and inner are 1; for a group norm rows go over (batch, group) and inner is the size of a channel.
// One workgroup a row. With `divided` the invocations divide it and trees add their sums; without, each of the few
// invocations sums the whole row: on a CPU that costs less than barriers.
// use: grid, workgroup_sum
// limits: invocations = 64, workgroup_bytes = 256
// variant: divided = false | true
// variant: lanes = 8 | 64
// variant: has_weight = false | true
// variant: has_bias = false | true

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> weight: array<f32>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;
@group(0) @binding(4) var<storage, read_write> mean: array<f32>;
@group(0) @binding(5) var<storage, read_write> rstd: array<f32>;

struct Params {
  rows: u32,
  width: u32,
  groups: u32,
  inner: u32,
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
  let start = row * params.width;
  let row_mean = row_sum(start, 0.0, false, lane) / f32(params.width);
  let variance = row_sum(start, row_mean, true, lane) / f32(params.width);
  let row_rstd = inverseSqrt(variance + params.eps);
  let first_channel = (row % params.groups) * (params.width / params.inner);
  for (var i = lane; i < params.width; i += lanes) {
    let channel = first_channel + i / params.inner;
    var result = (x[start + i] - row_mean) * row_rstd;
    if (has_weight) {
      result *= weight[channel];
    }
    if (has_bias) {
      result += bias[channel];
    }
    y[start + i] = result;
  }
  if (lane == 0u) {
    mean[row] = row_mean;
    rstd[row] = row_rstd;
  }
}

// The sum of the row's elements, or of their squared distances from `centre`.
fn row_sum(start: u32, centre: f32, squared: bool, lane: u32) -> f32 {
  var first = 0u;
  var step = 1u;
  if (divided) {
    first = lane;
    step = lanes;
  }
  var sum = 0.0;
  for (var i = first; i < params.width; i += step) {
    let distance = x[start + i] - centre;
    sum += select(distance, distance * distance, squared);
  }
  if (divided) {
    return workgroup_sum(sum, lane);
  }
  return sum;
}
