// Attention as attention.wgsl computes it (same operands and output), for few query rows on GPUs: a decode step.
//
// One workgroup takes up to `rows` query rows (token, head in group) of one key head over one of `splits` ranges of the
// keys, so that a key and a value are read once for a whole group of heads. For 32 keys at a time (16 with `wide`, for
// heads of more than 64 elements) it places the keys in workgroup memory, then the values; all are on their way before
// the first wait. An invocation makes one score of a row and key, then owns four elements of the sums of a row.
// Needs head_size, kv_token, kv_head, q_token and q_head in whole vec4s, head_size of at most 128, and no mask.
// use: grid, live, attention_operands
// variant: rows = 4 | 8
// variant: wide = false | true
// variant: Kv = f32 | f16
// limits: workgroup_bytes = 15104, invocations = 128

alias Element = vec4<f32>;
alias KvElement = vec4<Kv>;

const lanes = 128u;
const quads = select(16u, 32u, wide);  // of four elements of a head
const tile_keys = select(32u, 16u, wide);
const scores_owned = (rows * tile_keys + lanes - 1u) / lanes;
const sums_owned = (rows * quads + lanes - 1u) / lanes;
const loads = tile_keys * quads / lanes;
var<workgroup> tile: array<vec4<f32>, tile_keys * (quads + 1u)>;  // keys, then values; a quad apart against conflicts
var<workgroup> q_rows: array<vec4<f32>, rows * quads>;
var<workgroup> scores: array<vec4<f32>, rows * tile_keys / 4u>;
var<workgroup> weights: array<vec4<f32>, rows * tile_keys / 4u>;

fn load_q(first_row: u32, kv_head: u32, lane: u32) {
  for (var i = lane; i < rows * quads; i += lanes) {
    let row = first_row + i / quads;
    let token = row / params.group;
    let head = kv_head * params.group + row % params.group;
    var value = vec4<f32>();
    if (token < params.tokens && i % quads * 4u < params.head_size) {
      value = q[(token * params.q_token + head * params.q_head) / 4u + i % quads] * params.scale;
    }
    q_rows[i] = value;
  }
}

// Where quad i of a tile is in the keys and values.
fn kv_at(first_key: u32, kv_head: u32, i: u32) -> u32 {
  let key = min(first_key + i / quads, live_keys() - 1u);
  return (key * params.kv_token + kv_head * params.kv_head) / 4u + min(i % quads, params.head_size / 4u - 1u);
}

fn row_greatest(row: u32) -> f32 {
  var greatest = scores[row * tile_keys / 4u];
  for (var j = 1u; j < tile_keys / 4u; j++) {
    greatest = max(greatest, scores[row * tile_keys / 4u + j]);
  }
  return max(max(greatest.x, greatest.y), max(greatest.z, greatest.w));
}

fn store(row: u32, kv_head: u32, split: u32, d: u32, sum: vec4<f32>, greatest: f32, weight: f32) {
  let token = row / params.group;
  let head = kv_head * params.group + row % params.group;
  if (token >= params.tokens || d >= params.head_size) {
    return;
  }
  let heads = params.kv_heads * params.group;
  let part = split * params.tokens * heads + token * heads + head;
  var at = part * params.head_size + d;
  var result = sum;
  if (params.splits == 1u) {
    at = token * params.q_token + head * params.q_head + d;
    result = select(sum / weight, vec4<f32>(), weight == 0.0);
  } else if (d == 0u) {
    let totals = params.splits * params.tokens * heads * params.head_size + part * 2u;
    output[totals] = greatest;
    output[totals + 1u] = weight;
  }
  for (var c = 0u; c < 4u; c++) {
    output[at + c] = result[c];
  }
}

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let row_tiles = (params.tokens * params.group + rows - 1u) / rows;
  var index = grid_index(workgroup, workgroups);
  let first_row = index % row_tiles * rows;
  index /= row_tiles;
  let split = index % params.splits;
  let kv_head = index / params.splits;
  if (kv_head >= params.kv_heads) {
    return;
  }
  // The last row sees the most.
  let last_row = min(first_row + rows, params.tokens * params.group) - 1u;
  let end = min(visible(last_row), (split + 1u) * params.split_keys);
  let begin = split * params.split_keys;
  var keys = array<vec4<f32>, loads>();
  var values = array<vec4<f32>, loads>();
  for (var l = 0u; l < loads; l++) {
    let at = kv_at(begin, kv_head, l * lanes + lane);
    keys[l] = vec4<f32>(k[at]);
    values[l] = vec4<f32>(v[at]);
  }
  load_q(first_row, kv_head, lane);

  var greatest_seen = array<f32, scores_owned>();  // of the row of each score owned
  var greatest = array<f32, sums_owned>();         // of the row of each sum owned
  var weight = array<f32, sums_owned>();
  var sums = array<vec4<f32>, sums_owned>();
  for (var s = 0u; s < scores_owned; s++) {
    greatest_seen[s] = lowest;
  }
  for (var s = 0u; s < sums_owned; s++) {
    greatest[s] = lowest;
  }
  for (var start = begin; start < end; start += tile_keys) {
    workgroupBarrier();
    for (var l = 0u; l < loads; l++) {
      let i = l * lanes + lane;
      tile[i / quads * (quads + 1u) + i % quads] = keys[l];
    }
    workgroupBarrier();
    for (var s = lane; s < rows * tile_keys; s += lanes) {
      let row = s / tile_keys;
      let key = s % tile_keys;
      var score = vec4<f32>();
      for (var d = 0u; d < quads; d++) {
        score += q_rows[row * quads + d] * tile[key * (quads + 1u) + d];
      }
      let seen = start + key < visible(first_row + row);
      scores[s / 4u][s % 4u] = select(lowest, dot(score, vec4<f32>(1.0)), seen);
    }
    workgroupBarrier();
    for (var l = 0u; l < loads; l++) {
      let i = l * lanes + lane;
      tile[i / quads * (quads + 1u) + i % quads] = values[l];
      let at = kv_at(start + tile_keys, kv_head, i);
      if (start + tile_keys < end) {
        keys[l] = vec4<f32>(k[at]);
        values[l] = vec4<f32>(v[at]);
      }
    }
    // What was summed so far counts less when a greater score is found.
    for (var o = 0u; o < scores_owned; o++) {
      let s = o * lanes + lane;
      if (s < rows * tile_keys) {
        greatest_seen[o] = max(greatest_seen[o], row_greatest(s / tile_keys));
        let score = scores[s / 4u][s % 4u];
        weights[s / 4u][s % 4u] = select(exp(score - greatest_seen[o]), 0.0, score == lowest);
      }
    }
    for (var o = 0u; o < sums_owned; o++) {
      let row = min((o * lanes + lane) / quads, rows - 1u);
      let new_greatest = max(greatest[o], row_greatest(row));
      let fade = exp(greatest[o] - new_greatest);
      greatest[o] = new_greatest;
      weight[o] *= fade;
      sums[o] *= fade;
    }
    workgroupBarrier();
    for (var o = 0u; o < sums_owned; o++) {
      let i = o * lanes + lane;
      let row = min(i / quads, rows - 1u);
      for (var key = 0u; key < tile_keys; key += 4u) {
        let w = weights[(row * tile_keys + key) / 4u];
        let at = key * (quads + 1u) + i % quads;
        weight[o] += dot(w, vec4<f32>(1.0));
        sums[o] += w.x * tile[at] + w.y * tile[at + quads + 1u] + w.z * tile[at + 2u * (quads + 1u)] +
                   w.w * tile[at + 3u * (quads + 1u)];
      }
    }
  }
  for (var o = 0u; o < sums_owned; o++) {
    let i = o * lanes + lane;
    if (i < rows * quads) {
      store(first_row + i / quads, kv_head, split, i % quads * 4u, sums[o], greatest[o], weight[o]);
    }
  }
}
