// Ends what q4_linear_matrix.wgsl began: y[m, n] = sum_s parts[s][m, column + n] + bias[column + n] + residual[m, n], or
// with swiglu silu of the sum with its bias times the same of column n columns further.
//
// parts: [splits, padded m, columns]; bias: [columns]; residual: like y; y: [m, n]. An invocation an element of y.
// use: grid
// variant: swiglu = false | true

@group(0) @binding(0) var<storage, read> parts: array<f32>;
@group(0) @binding(1) var<storage, read> bias: array<f32>;
@group(0) @binding(2) var<storage, read> residual: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

struct Params {
  m: u32,
  n: u32,
  column: u32,
  columns: u32,
  split_stride: u32,
  splits: u32,
  has_bias: u32,
  has_residual: u32,
}
@group(1) @binding(0) var<uniform> params: Params;

fn product(token: u32, column: u32) -> f32 {
  let at = token * params.columns + column;
  var sum = parts[at];
  for (var s = 1u; s < params.splits; s++) {
    sum += parts[at + s * params.split_stride];
  }
  if (params.has_bias != 0u) {
    sum += bias[column];
  }
  return sum;
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = grid_index(workgroup, workgroups) * 256u + lane;
  if (i >= params.m * params.n) {
    return;
  }
  let token = i / params.n;
  let column = params.column + i % params.n;
  var value = product(token, column);
  if (swiglu) {
    value = value / (1.0 + exp(-value)) * product(token, column + params.n);
  }
  if (params.has_residual != 0u) {
    value += residual[i];
  }
  y[i] = value;
}
