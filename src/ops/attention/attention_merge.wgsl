// Puts the splits of attention.wgsl together: o[r] = sum_s sums[s, r] * f(s) / sum_s weight[s, r] * f(s), where
// f(s) = exp(greatest[s, r] - max_s greatest[s, r]).
//
// parts: sums [splits, rows, head_size], then (greatest, weight) [splits, rows, 2]; a row is (token, head).
// One invocation an element of the output.
// use: grid

@group(0) @binding(0) var<storage, read> parts: array<f32>;
@group(0) @binding(1) var<storage, read_write> output: array<f32>;

struct Params {
  heads: u32,
  rows: u32,
  head_size: u32,
  splits: u32,
  q_token: u32,  // as in attention.wgsl
  q_head: u32,
}
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = grid_index(workgroup, workgroups) * 64u + lane;
  let row = i / params.head_size;
  let d = i % params.head_size;
  if (row >= params.rows) {
    return;
  }
  let totals = params.splits * params.rows * params.head_size;
  var greatest = parts[totals + row * 2u];
  for (var s = 1u; s < params.splits; s++) {
    greatest = max(greatest, parts[totals + (s * params.rows + row) * 2u]);
  }
  var sum = 0.0;
  var weight = 0.0;
  for (var s = 0u; s < params.splits; s++) {
    let at = s * params.rows + row;
    let factor = exp(parts[totals + at * 2u] - greatest);
    sum += parts[at * params.head_size + d] * factor;
    weight += parts[totals + at * 2u + 1u] * factor;
  }
  output[row / params.heads * params.q_token + row % params.heads * params.q_head + d] = sum / weight;
}
