// y[m, n] = bias[n] + sum_k x[m, k] * weight[n, k] * scale[k / group_size, n], in f32, for software adapters: each
// invocation owns four rows of the weight, so nothing is reduced across invocations and nothing waits at a barrier.
//
// x: [m, k]; blocks: 4-bit rows as q4_pack.wgsl lays them out; scales: [groups, scale_stride]; y: [m, n].
// One workgroup computes `tokens` rows of y times 32 columns. The invocations of a subgroup read different
// elements of x and broadcast them; `width` is how many share elements, at most the device's least subgroup size.
// Workgroups of the same columns follow each other, so that their weights stay in the cache.
// use: grid, broadcast, q4, q4_scales
// variant: tokens = 1 | 4 | 8
// variant: width = 4 | 8
// variant: whole_blocks = false | true

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

const lanes = 8u;

// Element k of the row of x that begins at `start`.
fn x_at(start: u32, k: u32) -> f32 {
  return select(0.0, x[start + min(k, params.k - 1u)], k < params.k);
}

// Elements k to k + 7 of a row of x; this invocation reads element k + i, and k + 4 + i where four share.
struct Eight {
  first: vec4<f32>,
  second: vec4<f32>,
}

fn x_eight(start: u32, k: u32, i: u32) -> Eight {
  let v = x_at(start, k + i);
  if (width == 4u) {
    return Eight(broadcast_first(v), broadcast_first(x_at(start, k + 4u + i)));
  }
  return Eight(broadcast_first(v), broadcast_second(v));
}

// Weights k to k + 3 of four rows, a column a row.
fn weights(words: vec4<u32>, k: u32, rows: vec4<u32>) -> mat4x4<f32> {
  return mat4x4<f32>(scale_four(q4_first(words.x), k, rows.x), scale_four(q4_first(words.y), k, rows.y),
                     scale_four(q4_first(words.z), k, rows.z), scale_four(q4_first(words.w), k, rows.w));
}

fn store(token: u32, row: u32, value: f32) {
  if (token < params.m && row < params.rows) {
    let column = params.first_row + row;
    var result = value;
    if (params.has_bias != 0u) {
      result += bias[column];
    }
    y[token * params.n + column] = result;
  }
}

fn store_rows(token: u32, rows: vec4<u32>, values: vec4<f32>) {
  store(token, rows.x, values.x);
  store(token, rows.y, values.y);
  store(token, rows.z, values.z);
  store(token, rows.w, values.w);
}

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32, @builtin(subgroup_invocation_id) subgroup_lane: u32) {
  let tile = grid_index(workgroup, workgroups);
  let token_tiles = (params.m + tokens - 1u) / tokens;
  let token = tile % token_tiles * tokens;
  let rows = tile / token_tiles * 4u * lanes + lane + vec4<u32>(0u, lanes, 2u * lanes, 3u * lanes);
  let safe_rows = min(rows, vec4<u32>(params.rows - 1u));
  let i = subgroup_lane % width;

  // A row past the end of x repeats the last one and is not stored.
  var starts = array<u32, tokens>();
  for (var t = 0u; t < tokens; t++) {
    starts[t] = min(token + t, params.m - 1u) * params.k;
  }
  // Sums of four rows of the weight each.
  var results = array<vec4<f32>, tokens>();
  for (var k = 0u; k < params.k; k += 32u) {
    let at = k / 32u * params.rows;
    let block0 = blocks[at + safe_rows.x];
    let block1 = blocks[at + safe_rows.y];
    let block2 = blocks[at + safe_rows.z];
    let block3 = blocks[at + safe_rows.w];
    let scale = vec4<f32>(block_scale(k, safe_rows.x), block_scale(k, safe_rows.y), block_scale(k, safe_rows.z),
                          block_scale(k, safe_rows.w));
    // The initial value is written out: in a loop, Dawn sets a variable without one to zero only once.
    var sums = array<vec4<f32>, tokens>();
    for (var w = 0u; w < 4u; w++) {
      let words = vec4<u32>(block0[w], block1[w], block2[w], block3[w]);
      let word_k = k + w * 8u;
      let first = weights(words, word_k, safe_rows);
      let second = weights(words >> vec4<u32>(4u), word_k + 4u, safe_rows);
      for (var t = 0u; t < tokens; t++) {
        let x = x_eight(starts[t], word_k, i);
        sums[t] += x.first * first + x.second * second;
      }
    }
    for (var t = 0u; t < tokens; t++) {
      results[t] += sums[t] * scale;
    }
  }
  for (var t = 0u; t < tokens; t++) {
    store_rows(token + t, rows, results[t]);
  }
}
