// y[m, n] = bias[n] + sum_k x[m, k] * weight[n, k] * scale[k / group_size, n], in f32, for software adapters: each
// invocation owns four rows of the weight, so nothing is reduced across invocations.
//
// x: [m, k]; blocks: 4-bit rows as q4_pack.wgsl lays them out; scales: [groups, scale_stride]; y: [m, n].
// One workgroup computes `tokens` rows of y times 4 * lanes columns; x passes through workgroup memory, where reading
// one address from all invocations is cheapest (a third of the time of a storage buffer on lavapipe).
// Workgroups of the same columns follow each other, so that their weights stay in the cache.
// use: grid, q4, q4_scales
// variant: tokens = 1 | 4
// variant: whole_blocks = false | true
// limits: invocations = 64, workgroup_bytes = 8192

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

const lanes = select(16u, 64u, tokens > 1u);
const chunk = 512u;  // elements of k that are in workgroup memory at a time
var<workgroup> x_chunk: array<vec4<f32>, tokens * chunk / 4u>;

fn x_at(token: u32, k: u32) -> f32 {
  if (token < params.m && k < params.k) {
    return x[token * params.k + k];
  }
  return 0.0;
}

fn load_chunk(first_token: u32, first_k: u32, lane: u32) {
  for (var i = lane; i < tokens * chunk / 4u; i += lanes) {
    let token = first_token + i / (chunk / 4u);
    let k = first_k + i % (chunk / 4u) * 4u;
    if (k < params.k) {
      x_chunk[i] = vec4<f32>(x_at(token, k), x_at(token, k + 1u), x_at(token, k + 2u), x_at(token, k + 3u));
    } else {
      x_chunk[i] = vec4<f32>();
    }
  }
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

@compute @workgroup_size(lanes)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let tile = grid_index(workgroup, workgroups);
  let token_tiles = (params.m + tokens - 1u) / tokens;
  let token = tile % token_tiles * tokens;
  let rows = tile / token_tiles * 4u * lanes + lane + vec4<u32>(0u, lanes, 2u * lanes, 3u * lanes);
  let safe_rows = min(rows, vec4<u32>(params.rows - 1u));

  // Sums of four rows each, one for each token.
  var y0 = vec4<f32>();
  var y1 = vec4<f32>();
  var y2 = vec4<f32>();
  var y3 = vec4<f32>();
  for (var first = 0u; first < params.k; first += chunk) {
    workgroupBarrier();
    load_chunk(token, first, lane);
    workgroupBarrier();
    let chunk_blocks = (min(params.k - first, chunk) + 31u) / 32u;
    for (var b = 0u; b < chunk_blocks; b++) {
      let k = first + b * 32u;
      let at = k / 32u * params.rows;
      let block0 = blocks[at + safe_rows.x];
      let block1 = blocks[at + safe_rows.y];
      let block2 = blocks[at + safe_rows.z];
      let block3 = blocks[at + safe_rows.w];
      let scale = vec4<f32>(block_scale(k, safe_rows.x), block_scale(k, safe_rows.y), block_scale(k, safe_rows.z),
                            block_scale(k, safe_rows.w));
      var sum0 = vec4<f32>();
      var sum1 = vec4<f32>();
      var sum2 = vec4<f32>();
      var sum3 = vec4<f32>();
      for (var w = 0u; w < 4u; w++) {
        let words = vec4<u32>(block0[w], block1[w], block2[w], block3[w]);
        let weights_a = weights(words, k + w * 8u, safe_rows);
        let weights_b = weights(words >> vec4<u32>(4u), k + w * 8u + 4u, safe_rows);
        let i = b * 8u + w * 2u;
        sum0 += x_chunk[i] * weights_a + x_chunk[i + 1u] * weights_b;
        if (tokens > 1u) {
          sum1 += x_chunk[i + chunk / 4u] * weights_a + x_chunk[i + chunk / 4u + 1u] * weights_b;
          sum2 += x_chunk[i + chunk / 2u] * weights_a + x_chunk[i + chunk / 2u + 1u] * weights_b;
          sum3 += x_chunk[i + chunk * 3u / 4u] * weights_a + x_chunk[i + chunk * 3u / 4u + 1u] * weights_b;
        }
      }
      y0 += sum0 * scale;
      y1 += sum1 * scale;
      y2 += sum2 * scale;
      y3 += sum3 * scale;
    }
  }
  store_rows(token, rows, y0);
  if (tokens > 1u) {
    store_rows(token + 1u, rows, y1);
    store_rows(token + 2u, rows, y2);
    store_rows(token + 3u, rows, y3);
  }
}
