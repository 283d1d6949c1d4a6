// y[n, c, i] = (x[n, c, i] - mean[c]) / sqrt(variance[c] + eps) * weight[c] + bias[c], with statistics from training.
//
// x, y: [batch, channels, inner]; the others: [channels]. Each invocation makes one element.
// use: grid
// variant: has_weight = false | true
// variant: has_bias = false | true

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> weight: array<f32>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read> mean: array<f32>;
@group(0) @binding(4) var<storage, read> variance: array<f32>;
@group(0) @binding(5) var<storage, read_write> y: array<f32>;

struct Params {
  count: u32,  // elements
  channels: u32,
  inner: u32,
  eps: f32,
}
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = grid_index(workgroup, workgroups) * 256u + lane;
  if (i >= params.count) {
    return;
  }
  let channel = i / params.inner % params.channels;
  var result = (x[i] - mean[channel]) * inverseSqrt(variance[channel] + params.eps);
  if (has_weight) {
    result *= weight[channel];
  }
  if (has_bias) {
    result += bias[channel];
  }
  y[i] = result;
}
