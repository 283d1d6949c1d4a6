// y = x * W^T + bias + residual for rows of a 4-bit weight W, in f32, for many rows of x.
//
// x: [m, k]; residual: like y; blocks, scales: as q4_pack.wgsl and pack_columns.wgsl lay them out; y: [m, n].
// One workgroup computes 64 x 64 elements of y; for each block of k it places 64 rows of x and the weights of 64
// columns in workgroup memory, so that a weight is decoded once for 64 rows.
// use: grid, q4, q4_scales, tile
// variant: whole_blocks = false | true
// limits: workgroup_bytes = 16384

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> residual: array<f32>;
@group(0) @binding(2) var<storage, read> blocks: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> scales: array<f32>;
@group(0) @binding(4) var<storage, read> bias: array<f32>;
@group(0) @binding(5) var<storage, read_write> y: array<f32>;

struct Params {
  m: u32,
  k: u32,
  rows: u32,  // of the weight that this dispatch takes
  block_row: u32,  // its first row in blocks, which hold block_rows
  block_rows: u32,
  scale_row: u32,  // and in scales, which have scale_rows columns
  scale_rows: u32,
  bias_row: u32,  // and in bias
  column: u32,  // and in y
  n: u32,  // columns of y
  group_size: u32,
  groups: u32,
  has_bias: u32,
  has_residual: u32,
}
@group(1) @binding(0) var<uniform> params: Params;

fn load_x(first_token: u32, first_k: u32, lane: u32) {
  let k = first_k + lane % tile_k;
  for (var i = lane / tile_k; i < tile_size; i += 8u) {
    let token = first_token + i;
    var value = 0.0;
    if (token < params.m && k < params.k) {
      value = x[token * params.k + k];
    }
    set_tile_a(lane % tile_k, i, value);
  }
}

// Each invocation decodes one word of a block: eight weights of a row.
fn load_weights(first_row: u32, k: u32, lane: u32) {
  let i = lane % tile_size;
  let word = lane / tile_size;
  let row = min(first_row + i, params.rows - 1u);
  let bits = blocks[k / tile_k * params.block_rows + params.block_row + row][word];
  let scale = block_scale(k, row);
  let first = scale_four(q4_first(bits), k + word * 8u, row) * scale;
  let second = scale_four(q4_second(bits), k + word * 8u + 4u, row) * scale;
  for (var j = 0u; j < 4u; j++) {
    set_tile_b(word * 8u + j, i, first[j]);
    set_tile_b(word * 8u + 4u + j, i, second[j]);
  }
}

fn store(token: u32, row: u32, value: f32) {
  if (token < params.m && row < params.rows) {
    let at = token * params.n + params.column + row;
    var result = value;
    if (params.has_bias != 0u) {
      result += bias[params.bias_row + row];
    }
    if (params.has_residual != 0u) {
      result += residual[at];
    }
    y[at] = result;
  }
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let index = grid_index(workgroup, workgroups);
  let token_tiles = (params.m + tile_size - 1u) / tile_size;
  let first_token = index % token_tiles * tile_size;
  let first_row = index / token_tiles * tile_size;
  var sums = mat4x4<f32>();
  for (var k = 0u; k < params.k; k += tile_k) {
    workgroupBarrier();
    load_x(first_token, k, lane);
    load_weights(first_row, k, lane);
    workgroupBarrier();
    sums = add_tile(sums, lane);
  }
  for (var i = 0u; i < 4u; i++) {
    for (var j = 0u; j < 4u; j++) {
      store(first_token + lane / 16u * 4u + i, first_row + lane % 16u * 4u + j, sums[i][j]);
    }
  }
}
