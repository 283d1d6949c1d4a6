// y[m, n] = bias[n] + sum_k x[m, k] * weight[n, k] * scale[k / group_size, n], in f32, for few rows of x.
//
// x: [m, k]; blocks: 4-bit rows as q4_pack.wgsl lays them out; scales: [groups, scale_stride]; y: [m, n].
// One workgroup computes 16 columns of one row of y. Sixteen neighbouring invocations read the blocks of 16 neighbouring
// rows (256 bytes in one piece); k is split among 16 such slices, whose sums are added through workgroup memory.
// use: grid, q4, q4_scales
// variant: whole_blocks = false | true
// limits: workgroup_bytes = 9216

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> blocks: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> scales: array<f32>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;

struct Params {
  m: u32,
  n: u32,  // columns of y
  k: u32,
  first_row: u32,  // blocks hold rows [first_row, first_row + rows) of the weight
  rows: u32,
  group_size: u32,
  groups: u32,
  scale_stride: u32,
  has_bias: u32,
}
@group(1) @binding(0) var<uniform> params: Params;

const lanes = 256u;
const columns = 16u;
const slices = lanes / columns;
const chunk = 2048u;  // elements of k that are in workgroup memory at a time
var<workgroup> x_chunk: array<vec4<f32>, chunk / 4u>;
var<workgroup> sums: array<f32, lanes>;

fn x_at(token: u32, k: u32) -> f32 {
  if (k < params.k) {
    return x[token * params.k + k];
  }
  return 0.0;
}

fn load_chunk(token: u32, first: u32, lane: u32) {
  for (var i = lane; i < chunk / 4u && first + i * 4u < round_up_32(params.k); i += lanes) {
    let k = first + i * 4u;
    x_chunk[i] = vec4<f32>(x_at(token, k), x_at(token, k + 1u), x_at(token, k + 2u), x_at(token, k + 3u));
  }
}

fn round_up_32(k: u32) -> u32 {
  return (k + 31u) / 32u * 32u;
}

// What one word of the weights, elements k to k + 7, adds; x_chunk[i] holds x from k on.
fn word_product(word: u32, i: u32, k: u32, row: u32) -> f32 {
  return dot(scale_four(q4_first(word), k, row), x_chunk[i]) +
         dot(scale_four(q4_second(word), k + 4u, row), x_chunk[i + 1u]);
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let tile = grid_index(workgroup, workgroups);
  let token = tile % params.m;
  let row = tile / params.m * columns + lane % columns;
  let safe_row = min(row, params.rows - 1u);
  let slice = lane / columns;
  var sum = 0.0;
  for (var first = 0u; first < params.k; first += chunk) {
    workgroupBarrier();
    load_chunk(token, first, lane);
    workgroupBarrier();
    let chunk_blocks = (min(params.k - first, chunk) + 31u) / 32u;
    for (var b = slice; b < chunk_blocks; b += slices) {
      let k = first + b * 32u;
      let words = blocks[k / 32u * params.rows + safe_row];
      let i = b * 8u;
      let product = word_product(words.x, i, k, safe_row) + word_product(words.y, i + 2u, k + 8u, safe_row) +
                    word_product(words.z, i + 4u, k + 16u, safe_row) + word_product(words.w, i + 6u, k + 24u, safe_row);
      sum += product * block_scale(k, safe_row);
    }
  }
  sums[lane] = sum;
  workgroupBarrier();
  if (lane < columns && row < params.rows) {
    let column = params.first_row + row;
    var result = 0.0;
    for (var s = 0u; s < slices; s++) {
      result += sums[s * columns + lane];
    }
    if (params.has_bias != 0u) {
      result += bias[column];
    }
    y[token * params.n + column] = result;
  }
}
