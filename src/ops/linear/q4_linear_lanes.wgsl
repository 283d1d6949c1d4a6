// y = h * W^T + bias for up to three 4-bit weights W, one below the other, in f32, for software adapters: each
// invocation owns four rows of the weights, so nothing is reduced across invocations and nothing waits at a barrier.
//
// h is x, or with norm x / sqrt(mean(x^2) + eps) * extra: the squares are summed as x is read, and the root divides
// the products. With swiglu there are two weights and y0 = silu(h * W0^T) * (h * W1^T). Without norm, extra may be a
// residual that is added to y0.
// x: [m, k]; extra: [k] or like y0; blocks, scales: as q4_pack.wgsl and pack_columns.wgsl lay them out; y0: [m, n0]
// and so on.
// One workgroup computes `tokens` rows of the outputs times 32 rows of the weights. The invocations of a subgroup read
// different elements of x and broadcast them; `width` is how many share elements, at most the device's least subgroup
// size. Workgroups of the same rows follow each other, so that their weights stay in the cache. With whole_blocks k, too,
// is a multiple of 32, so nothing of x needs to be checked.
// use: grid, broadcast, q4, q4_scales, q4_operands
// variant: tokens = 1 | 8
// variant: width = 4 | 8
// variant: whole_blocks = false | true
// variant: form = plain | norm | swiglu | norm_swiglu

alias XElement = f32;

const lanes = 8u;

// Sums of the squares of those elements of x that this invocation reads.
var<private> squares: array<f32, tokens>;

// The norm's weight of element k.
fn factor_at(k: u32) -> f32 {
  if (!norm) {
    return 1.0;
  }
  return extra[select(min(k, params.k - 1u), k, whole_blocks)];
}

// Element k of a row of x, which begins at `start`, times `factor` with norm.
fn x_at(t: u32, start: u32, k: u32, factor: f32) -> f32 {
  var v = 0.0;
  if (whole_blocks) {
    v = x[start + k];
  } else {
    v = select(0.0, x[start + min(k, params.k - 1u)], k < params.k);
  }
  if (norm) {
    squares[t] += v * v;
    return v * factor;
  }
  return v;
}

// Elements k to k + 7 of a row of x; this invocation reads element k + i, and k + 4 + i where four share.
struct Eight {
  first: vec4<f32>,
  second: vec4<f32>,
}

fn x_eight(t: u32, start: u32, k: u32, i: u32, factors: vec2<f32>) -> Eight {
  let v = x_at(t, start, k + i, factors.x);
  if (width == 4u) {
    return Eight(broadcast_first(v), broadcast_first(x_at(t, start, k + 4u + i, factors.y)));
  }
  return Eight(broadcast_first(v), broadcast_second(v));
}

// What the products of row t are multiplied with.
fn inverse_root(t: u32) -> f32 {
  var sum = broadcast_first(squares[t]);
  if (width == 8u) {
    sum += broadcast_second(squares[t]);
  }
  return inverseSqrt(dot(sum, vec4<f32>(1.0)) / f32(params.k) + params.eps);
}

// Weights k to k + 3 of four rows, a column a row.
fn weights(words: vec4<u32>, k: u32, rows: vec4<u32>) -> mat4x4<f32> {
  return mat4x4<f32>(scale_four(q4_first(words.x), k, rows.x), scale_four(q4_first(words.y), k, rows.y),
                     scale_four(q4_first(words.z), k, rows.z), scale_four(q4_first(words.w), k, rows.w));
}

// sum + x * w, a column of w at a time. lavapipe does not fuse multiplications and additions by itself; told to, it reads
// a prompt 1.2 times faster.
fn plus_product(sum: vec4<f32>, x: vec4<f32>, w: mat4x4<f32>) -> vec4<f32> {
  var result = sum;
  for (var c = 0u; c < 4u; c++) {
    result[c] = fma(x.w, w[c].w, fma(x.z, w[c].z, fma(x.y, w[c].y, fma(x.x, w[c].x, result[c]))));
  }
  return result;
}

// The four rows of an invocation: 8 apart, so that the invocations read neighbours; with swiglu two of either weight.
fn own_rows(tile: u32, lane: u32) -> vec4<u32> {
  if (swiglu) {
    let row = tile * 2u * lanes + lane + vec2<u32>(0u, lanes);
    return vec4<u32>(row, row + params.n0);
  }
  return tile * 4u * lanes + lane + vec4<u32>(0u, lanes, 2u * lanes, 3u * lanes);
}

fn store_rows(token: u32, rows: vec4<u32>, products: vec4<f32>) {
  let last = params.rows - 1u;
  let values = vec4<f32>(biased(min(rows.x, last), products.x), biased(min(rows.y, last), products.y),
                         biased(min(rows.z, last), products.z), biased(min(rows.w, last), products.w));
  if (swiglu) {
    store(token, rows.x, silu(values.x) * values.z);
    store(token, rows.y, silu(values.y) * values.w);
    return;
  }
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
  let rows = own_rows(tile / token_tiles, lane);
  let safe_rows = min(rows, vec4<u32>(params.rows - 1u));
  let i = subgroup_lane % width;

  // A row past the end of x repeats the last one and is not stored.
  var starts = array<u32, tokens>();
  for (var t = 0u; t < tokens; t++) {
    starts[t] = min(token + t, params.m - 1u) * params.k;
  }
  // Sums of four rows of the weights each.
  var results = array<vec4<f32>, tokens>();
  for (var k = 0u; k < params.k; k += 32u) {
    let at = k / 32u * params.block_rows + params.block_row;
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
      let factors = vec2<f32>(factor_at(word_k + i), factor_at(word_k + 4u + i));
      for (var t = 0u; t < tokens; t++) {
        let x = x_eight(t, starts[t], word_k, i, factors);
        sums[t] = plus_product(plus_product(sums[t], x.first, first), x.second, second);
      }
    }
    for (var t = 0u; t < tokens; t++) {
      results[t] += sums[t] * scale;
    }
  }
  for (var t = 0u; t < tokens; t++) {
    if (norm) {
      results[t] *= inverse_root(t);
    }
    if (token + t < params.m) {
      store_rows(token + t, rows, results[t]);
    }
  }
}
