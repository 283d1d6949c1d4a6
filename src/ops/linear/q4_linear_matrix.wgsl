// parts[s][m, n] = sum over the s-th part of k of x[m, k] * weight[n, k] * scale[k / group_size, n], on the device's
// matrix unit: f16 products, f32 sums. q4_linear_sum.wgsl adds the parts and stores what lies inside y.
//
// x: [m, k]; blocks: 4-bit rows as q4_pack.wgsl lays them out; scales: [groups, scale_rows];
// parts: [splits, token_tiles * tile_m, row_tiles * 128].
// One workgroup, four subgroups of 32, computes tile_m x 128 elements of one part: for each 32 elements of k it places
// x and the decoded weights in workgroup memory as f16, rows 8 elements apart more than needed against bank conflicts.
// Each subgroup owns a quarter of the tile, as 16 matrices of 16 x 16 (8 unless `tall`). They are separate variables
// because an array of them is kept in memory by the compiler measured (6 times slower).
// The route (q4_linear_matrix.cpp) sees to it that k, the group size and the subgroup size fit.
// use: grid, q4_half
// variant: tall = false | true
// limits: workgroup_bytes = 20480, invocations = 128, matrix
enable f16;
enable subgroups;
enable chromium_experimental_subgroup_matrix;
diagnostic(off, chromium.subgroup_matrix_uniformity);

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> blocks: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> scales: array<f32>;
@group(0) @binding(3) var<storage, read_write> parts: array<f32>;

struct Params {
  m: u32,
  k: u32,  // a multiple of 32
  rows: u32,  // of the weights, which lie one below the other
  block_rows: u32,  // of all of blocks
  scale_rows: u32,  // columns of the scales
  group_size: u32,  // a multiple of 32
  split_k: u32,  // elements of k of a part, a multiple of 32
  splits: u32,
}
@group(1) @binding(0) var<uniform> params: Params;

alias Left = subgroup_matrix_left<f16, 16, 16>;
alias Right = subgroup_matrix_right<f16, 16, 16>;
alias Sums = subgroup_matrix_result<f32, 16, 16>;

const lanes = 128u;
const tile_m = select(64u, 128u, tall);
const tile_n = 128u;
const stride = 40u;
const x_loads = tile_m / 16u;
var<workgroup> tile_x: array<f16, tile_m * stride>;
var<workgroup> tile_w: array<f16, tile_n * stride>;

fn place_x(at: u32, value: vec4<f16>) {
  tile_x[at] = value.x;
  tile_x[at + 1u] = value.y;
  tile_x[at + 2u] = value.z;
  tile_x[at + 3u] = value.w;
}

fn place_word(at: u32, word: u32, scale: f16) {
  let first = q4_first_half(word) * scale;
  let second = q4_first_half(word >> 4u) * scale;
  tile_w[at] = first.x;
  tile_w[at + 1u] = first.y;
  tile_w[at + 2u] = first.z;
  tile_w[at + 3u] = first.w;
  tile_w[at + 4u] = second.x;
  tile_w[at + 5u] = second.y;
  tile_w[at + 6u] = second.z;
  tile_w[at + 7u] = second.w;
}

fn right(at: u32) -> Right {
  return subgroupMatrixLoad<Right>(&tile_w, at, true, stride);
}

// Sixteen rows of the tile times 64 columns.
fn multiply(c0: ptr<function, Sums>, c1: ptr<function, Sums>, c2: ptr<function, Sums>, c3: ptr<function, Sums>,
            at: u32, r0: Right, r1: Right, r2: Right, r3: Right) {
  let left = subgroupMatrixLoad<Left>(&tile_x, at, false, stride);
  *c0 = subgroupMatrixMultiplyAccumulate(left, r0, *c0);
  *c1 = subgroupMatrixMultiplyAccumulate(left, r1, *c1);
  *c2 = subgroupMatrixMultiplyAccumulate(left, r2, *c2);
  *c3 = subgroupMatrixMultiplyAccumulate(left, r3, *c3);
}

fn store(at: u32, row_stride: u32, c0: Sums, c1: Sums, c2: Sums, c3: Sums) {
  subgroupMatrixStore(&parts, at, c0, false, row_stride);
  subgroupMatrixStore(&parts, at + 16u, c1, false, row_stride);
  subgroupMatrixStore(&parts, at + 32u, c2, false, row_stride);
  subgroupMatrixStore(&parts, at + 48u, c3, false, row_stride);
}

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let token_tiles = (params.m + tile_m - 1u) / tile_m;
  let row_tiles = (params.rows + tile_n - 1u) / tile_n;
  let index = grid_index(workgroup, workgroups);
  let split = index / (token_tiles * row_tiles);
  if (split >= params.splits) {
    return;
  }
  let first_token = index % token_tiles * tile_m;
  let first_row = index / token_tiles % row_tiles * tile_n;
  let k_begin = split * params.split_k;
  let k_end = min(k_begin + params.split_k, params.k);

  // What this invocation loads for each step: a vec4 of every 16th token, and one block of the weight.
  let k4 = params.k / 4u;
  let token = first_token + lane / 8u;
  let row = min(first_row + lane, params.rows - 1u);
  let x_place = lane / 8u * stride + lane % 8u * 4u;
  let w_place = lane * stride;
  var x_next: array<vec4<f32>, x_loads>;
  for (var i = 0u; i < x_loads; i++) {
    x_next[i] = x[min(token + i * 16u, params.m - 1u) * k4 + k_begin / 4u + lane % 8u];
  }
  var w_next = blocks[k_begin / 32u * params.block_rows + row];
  var scale_next = scales[k_begin / params.group_size * params.scale_rows + row];

  let subgroup = lane / 32u;
  let my_tokens = subgroup % 2u * (tile_m / 2u);
  let my_rows = subgroup / 2u * 64u;
  var c00: Sums; var c01: Sums; var c02: Sums; var c03: Sums;
  var c10: Sums; var c11: Sums; var c12: Sums; var c13: Sums;
  var c20: Sums; var c21: Sums; var c22: Sums; var c23: Sums;
  var c30: Sums; var c31: Sums; var c32: Sums; var c33: Sums;
  for (var k = k_begin; k < k_end; k += 32u) {
    workgroupBarrier();
    for (var i = 0u; i < x_loads; i++) {
      place_x(x_place + i * 16u * stride, vec4<f16>(x_next[i]));
    }
    let scale = f16(scale_next);
    place_word(w_place, w_next.x, scale);
    place_word(w_place + 8u, w_next.y, scale);
    place_word(w_place + 16u, w_next.z, scale);
    place_word(w_place + 24u, w_next.w, scale);
    workgroupBarrier();
    // The loads for the next step are on their way while this one is multiplied.
    let k_next = min(k + 32u, k_end - 32u);
    for (var i = 0u; i < x_loads; i++) {
      x_next[i] = x[min(token + i * 16u, params.m - 1u) * k4 + k_next / 4u + lane % 8u];
    }
    w_next = blocks[k_next / 32u * params.block_rows + row];
    scale_next = scales[k_next / params.group_size * params.scale_rows + row];
    for (var half = 0u; half < 32u; half += 16u) {
      let at = my_tokens * stride + half;
      let w_at = my_rows * stride + half;
      let r0 = right(w_at);
      let r1 = right(w_at + 16u * stride);
      let r2 = right(w_at + 32u * stride);
      let r3 = right(w_at + 48u * stride);
      multiply(&c00, &c01, &c02, &c03, at, r0, r1, r2, r3);
      multiply(&c10, &c11, &c12, &c13, at + 16u * stride, r0, r1, r2, r3);
      if (tall) {
        multiply(&c20, &c21, &c22, &c23, at + 32u * stride, r0, r1, r2, r3);
        multiply(&c30, &c31, &c32, &c33, at + 48u * stride, r0, r1, r2, r3);
      }
    }
  }
  let row_stride = row_tiles * tile_n;
  let at = (split * token_tiles * tile_m + first_token + my_tokens) * row_stride + first_row + my_rows;
  store(at, row_stride, c00, c01, c02, c03);
  store(at + 16u * row_stride, row_stride, c10, c11, c12, c13);
  if (tall) {
    store(at + 32u * row_stride, row_stride, c20, c21, c22, c23);
    store(at + 48u * row_stride, row_stride, c30, c31, c32, c33);
  }
}
