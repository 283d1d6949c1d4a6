// Attention as attention.wgsl computes it (same operands and output), for many query rows on the device's matrix unit:
// queries, keys, values and weights are rounded to f16, sums are f32.
//
// One workgroup, four subgroups of 32, takes 64 query rows (token, head in group) of one key head, a subgroup 16 of them,
// and meets 32 keys at a time. Matrices cannot be scaled row by row, so the keys are met twice: first for the greatest
// score and the sum of the weights of each row, then for the weighted sums with final weights.
// Heads are padded to 64 elements, or to 128 with `wide`. Matrices are separate variables: see q4_linear_matrix.wgsl.
// Needs head_size and all strides in whole vec4s, head_size of at most 128, and no mask.
// use: grid, live, attention_operands
// variant: wide = false | true
// variant: Kv = f32 | f16
// limits: workgroup_bytes = 41472, invocations = 128, matrix
enable f16;
enable subgroups;
enable chromium_experimental_subgroup_matrix;
diagnostic(off, chromium.subgroup_matrix_uniformity);

alias Element = vec4<f32>;
alias KvElement = vec4<Kv>;
alias Left = subgroup_matrix_left<f16, 16, 16>;
alias Right = subgroup_matrix_right<f16, 16, 16>;
alias Sums = subgroup_matrix_result<f32, 16, 16>;

const lanes = 128u;
const tile_rows = 64u;
const tile_keys = 32u;
const padded = select(64u, 128u, wide);
// Rows in workgroup memory are a little apart against bank conflicts.
const stride = padded + 8u;
const score_stride = tile_keys + 4u;
const weight_stride = tile_keys + 8u;
var<workgroup> tile_q: array<f16, tile_rows * stride>;
var<workgroup> tile_kv: array<f16, tile_keys * stride>;
var<workgroup> scores: array<f32, tile_rows * score_stride>;
var<workgroup> weights: array<f16, tile_rows * weight_stride>;
var<workgroup> totals: array<vec2<f32>, lanes>;

// The offset of a query row.
fn row_start(i: u32, kv_head: u32) -> u32 {
  return i / params.group * params.q_token + (kv_head * params.group + i % params.group) * params.q_head;
}

fn load_q(first_row: u32, kv_head: u32, lane: u32) {
  for (var i = lane; i < tile_rows * padded / 4u; i += lanes) {
    let row = i / (padded / 4u);
    let d = i % (padded / 4u) * 4u;
    var value = vec4<f32>();
    if ((first_row + row) / params.group < params.tokens && d < params.head_size) {
      value = q[(row_start(first_row + row, kv_head) + d) / 4u] * params.scale;
    }
    for (var c = 0u; c < 4u; c++) {
      tile_q[row * stride + d + c] = f16(value[c]);
    }
  }
}

fn load_kv(values: bool, first_key: u32, kv_head: u32, lane: u32) {
  for (var i = lane; i < tile_keys * padded / 4u; i += lanes) {
    let row = i / (padded / 4u);
    let d = i % (padded / 4u) * 4u;
    let key = min(first_key + row, live_keys() - 1u);
    let at = (key * params.kv_token + kv_head * params.kv_head + d) / 4u;
    var value = vec4<f32>();
    if (d < params.head_size) {
      if (values) {
        value = vec4<f32>(v[at]);
      } else {
        value = vec4<f32>(k[at]);
      }
    }
    for (var c = 0u; c < 4u; c++) {
      tile_kv[row * stride + d + c] = f16(value[c]);
    }
  }
}

// The scores of 16 rows from `row` on with the keys in tile_kv.
fn make_scores(row: u32) {
  var near: Sums;
  var far: Sums;
  for (var d = 0u; d < padded; d += 16u) {
    let left = subgroupMatrixLoad<Left>(&tile_q, row * stride + d, false, stride);
    near = subgroupMatrixMultiplyAccumulate(left, subgroupMatrixLoad<Right>(&tile_kv, d, true, stride), near);
    far = subgroupMatrixMultiplyAccumulate(left, subgroupMatrixLoad<Right>(&tile_kv, 16u * stride + d, true, stride), far);
  }
  subgroupMatrixStore(&scores, row * score_stride, near, false, score_stride);
  subgroupMatrixStore(&scores, row * score_stride + 16u, far, false, score_stride);
}

fn right(key: u32, d: u32) -> Right {
  return subgroupMatrixLoad<Right>(&tile_kv, key * stride + d, false, stride);
}

// Stores 32 elements of each row, from `first` on.
fn store(first: u32, subgroup: u32, near: Sums, far: Sums, first_row: u32, kv_head: u32, lane: u32) {
  workgroupBarrier();
  subgroupMatrixStore(&scores, subgroup * 16u * score_stride, near, false, score_stride);
  subgroupMatrixStore(&scores, subgroup * 16u * score_stride + 16u, far, false, score_stride);
  workgroupBarrier();
  let d = lane % 32u;
  for (var row = lane / 32u; row < tile_rows; row += 4u) {
    if ((first_row + row) / params.group < params.tokens && first + d < params.head_size) {
      output[row_start(first_row + row, kv_head) + first + d] = scores[row * score_stride + d];
    }
  }
}

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let head_rows = params.tokens * params.group;
  let row_tiles = (head_rows + tile_rows - 1u) / tile_rows;
  let index = grid_index(workgroup, workgroups);
  let kv_head = index / max(row_tiles, 1u);
  if (kv_head >= params.kv_heads) {
    return;
  }
  // Late rows see the most keys: they begin first, so that none is left over at the end.
  let first_row = (row_tiles - 1u - index % row_tiles) * tile_rows;
  let end = visible(min(first_row + tile_rows, head_rows) - 1u);
  let subgroup = lane / 32u;
  // Of the scores an invocation owns 16 of a row.
  let my_row = lane / 2u;
  let my_keys = lane % 2u * 16u;
  let my_end = visible(first_row + my_row);
  let my_scores = my_row * score_stride + my_keys;

  load_q(first_row, kv_head, lane);
  var greatest = lowest;
  var total = 0.0;
  for (var start = 0u; start < end; start += tile_keys) {
    workgroupBarrier();
    load_kv(false, start, kv_head, lane);
    workgroupBarrier();
    make_scores(subgroup * 16u);
    workgroupBarrier();
    let seen = min(16u, max(start + my_keys, my_end) - start - my_keys);
    var new_greatest = greatest;
    for (var j = 0u; j < seen; j++) {
      new_greatest = max(new_greatest, scores[my_scores + j]);
    }
    total *= exp(greatest - new_greatest);
    greatest = new_greatest;
    for (var j = 0u; j < seen; j++) {
      total += exp(scores[my_scores + j] - greatest);
    }
  }
  totals[lane] = vec2<f32>(greatest, total);
  workgroupBarrier();
  let other = totals[lane ^ 1u];
  let row_greatest = max(greatest, other.x);
  total = total * exp(greatest - row_greatest) + other.y * exp(other.x - row_greatest);
  let factor = select(1.0 / total, 0.0, total == 0.0);

  var o0: Sums;
  var o1: Sums;
  var o2: Sums;
  var o3: Sums;
  var o4: Sums;
  var o5: Sums;
  var o6: Sums;
  var o7: Sums;
  for (var start = 0u; start < end; start += tile_keys) {
    workgroupBarrier();
    load_kv(false, start, kv_head, lane);
    workgroupBarrier();
    make_scores(subgroup * 16u);
    workgroupBarrier();
    let seen = min(16u, max(start + my_keys, my_end) - start - my_keys);
    for (var j = 0u; j < 16u; j++) {
      let weight = select(0.0, exp(scores[my_scores + j] - row_greatest) * factor, j < seen);
      weights[my_row * weight_stride + my_keys + j] = f16(weight);
    }
    load_kv(true, start, kv_head, lane);
    workgroupBarrier();
    for (var key = 0u; key < tile_keys; key += 16u) {
      let left = subgroupMatrixLoad<Left>(&weights, subgroup * 16u * weight_stride + key, false, weight_stride);
      o0 = subgroupMatrixMultiplyAccumulate(left, right(key, 0u), o0);
      o1 = subgroupMatrixMultiplyAccumulate(left, right(key, 16u), o1);
      o2 = subgroupMatrixMultiplyAccumulate(left, right(key, 32u), o2);
      o3 = subgroupMatrixMultiplyAccumulate(left, right(key, 48u), o3);
      if (wide) {
        o4 = subgroupMatrixMultiplyAccumulate(left, right(key, 64u), o4);
        o5 = subgroupMatrixMultiplyAccumulate(left, right(key, 80u), o5);
        o6 = subgroupMatrixMultiplyAccumulate(left, right(key, 96u), o6);
        o7 = subgroupMatrixMultiplyAccumulate(left, right(key, 112u), o7);
      }
    }
  }
  store(0u, subgroup, o0, o1, first_row, kv_head, lane);
  store(32u, subgroup, o2, o3, first_row, kv_head, lane);
  if (wide) {
    store(64u, subgroup, o4, o5, first_row, kv_head, lane);
    store(96u, subgroup, o6, o7, first_row, kv_head, lane);
  }
}
