// Ends what q4_linear_matrix.wgsl began: y[m, first_y + n] = sum_s parts[s][m, first_column + n] + addend, or with
// `gated` silu of that sum times the sum of column up_column + n.
//
// parts: [splits, padded m, columns]; y: [m, y_stride]; addend: a bias [y_stride] (addend_stride 0), a residual shaped
// like y (addend_stride = y_stride), or absent. One invocation an element of y.
// use: grid
// variant: gated = false | true

@group(0) @binding(0) var<storage, read> parts: array<f32>;
@group(0) @binding(1) var<storage, read> addend: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

struct Params {
  m: u32,
  n: u32,  // columns that are written
  y_stride: u32,
  first_y: u32,
  first_column: u32,
  up_column: u32,
  columns: u32,
  split_stride: u32,
  splits: u32,
  has_addend: u32,
  addend_stride: u32,
}
@group(1) @binding(0) var<uniform> params: Params;

fn part_sum(at: u32) -> f32 {
  var sum = parts[at];
  for (var s = 1u; s < params.splits; s++) {
    sum += parts[at + s * params.split_stride];
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
  let n = i % params.n;
  let row = token * params.columns;
  var value = part_sum(row + params.first_column + n);
  if (gated) {
    value = value / (1.0 + exp(-value)) * part_sum(row + params.up_column + n);
  }
  let column = params.first_y + n;
  if (params.has_addend != 0u) {
    value += addend[token * params.addend_stride + column];
  }
  y[token * params.y_stride + column] = value;
}
