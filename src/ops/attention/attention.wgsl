// Attention with an online softmax: o[r] = sum_j softmax_j(scale * q[r] . k[j] + mask[r, j]) * v[j], without ever holding
// a row of scores.
//
// q, output: element (token, head, d) is at token * q_token + head * q_head + d. k, v: element (j, kv_head, d) is at
// j * kv_token + kv_head * kv_head_stride + d. mask (optional): (head, token, j), dense, added to the scores.
// `group` query heads share a key head. Their rows (token, head in group) are taken in tiles of four, one in each
// component of a vec4, so that an element of k and v is read once for four rows.
// Causal: token t sees keys 0 to first_position + t; else all see `keys`.
//
// One workgroup computes a tile of one key head, for 64 * d_tiles of the head's elements, over one of `splits` ranges
// of the keys: each invocation owns a key of 64 while scores are made, then elements lane, lane + 64, ... of the sums.
// With one split the result is final. Otherwise output is, for each split and row, the sums without division, and after
// all of these the greatest score and the sum of the weights: attention_merge.wgsl puts them together.
// use: grid, live, attention_operands
// variant: d_tiles = 1 | 2 | 4
// variant: masked = false | true
// variant: Kv = f32 | f16
// limits: workgroup_bytes = 5120

alias Element = f32;
alias KvElement = Kv;

const lanes = 64u;

const q_part = 256u;  // elements of a row of q that are in workgroup memory at a time
var<workgroup> q_tile: array<vec4<f32>, q_part>;
var<workgroup> scores: array<vec4<f32>, lanes>;  // of 64 keys, then their weights

// Row of the tile's queries: (token, head).
struct Row {
  token: u32,
  head: u32,
}

fn row_at(i: u32, kv_head: u32) -> Row {
  return Row(i / params.group, kv_head * params.group + i % params.group);
}

fn q_at(i: u32, kv_head: u32, d: u32) -> f32 {
  let row = row_at(i, kv_head);
  if (row.token < params.tokens && d < params.head_size) {
    return q[row.token * params.q_token + row.head * params.q_head + d] * params.scale;
  }
  return 0.0;
}

fn mask_at(i: u32, kv_head: u32, key: u32) -> f32 {
  let row = row_at(i, kv_head);
  if (row.token < params.tokens) {
    return mask[(row.head * params.tokens + row.token) * live_keys() + key];
  }
  return 0.0;
}

fn store(i: u32, kv_head: u32, split: u32, d: u32, sum: f32, greatest: f32, weight: f32) {
  let row = row_at(i, kv_head);
  if (row.token >= params.tokens || d >= params.head_size) {
    return;
  }
  if (params.splits == 1u) {
    output[row.token * params.q_token + row.head * params.q_head + d] = select(sum / weight, 0.0, live_keys() == 0u);
    return;
  }
  let rows = params.tokens * params.kv_heads * params.group;
  let at = split * rows + row.token * params.kv_heads * params.group + row.head;
  output[at * params.head_size + d] = sum;
  if (d == 0u) {
    let totals = params.splits * rows * params.head_size + at * 2u;
    output[totals] = greatest;
    output[totals + 1u] = weight;
  }
}

fn store_rows(i: u32, kv_head: u32, split: u32, d: u32, sums: vec4<f32>, greatest: vec4<f32>, weights: vec4<f32>) {
  store(i, kv_head, split, d, sums.x, greatest.x, weights.x);
  store(i + 1u, kv_head, split, d, sums.y, greatest.y, weights.y);
  store(i + 2u, kv_head, split, d, sums.z, greatest.z, weights.z);
  store(i + 3u, kv_head, split, d, sums.w, greatest.w, weights.w);
}

fn load_q(i: u32, kv_head: u32, first: u32, lane: u32) {
  for (var d = lane; d < min(params.head_size - first, q_part); d += lanes) {
    q_tile[d] = vec4<f32>(q_at(i, kv_head, first + d), q_at(i + 1u, kv_head, first + d),
                          q_at(i + 2u, kv_head, first + d), q_at(i + 3u, kv_head, first + d));
  }
}

// What elements [first, first + count) of four rows of q, which q_tile holds, add to their scores of one key.
fn dot_rows(key_start: u32, first: u32, count: u32) -> vec4<f32> {
  var score = vec4<f32>();
  for (var d = 0u; d < count; d++) {
    score += q_tile[d] * f32(k[key_start + first + d]);
  }
  return score;
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let row_tiles = (params.tokens * params.group + 3u) / 4u;
  let d_groups = (params.head_size + lanes * d_tiles - 1u) / (lanes * d_tiles);
  var index = grid_index(workgroup, workgroups);
  let i = index % row_tiles * 4u;
  index /= row_tiles;
  let first_d = index % d_groups * lanes * d_tiles + lane;
  index /= d_groups;
  let split = index % params.splits;
  let kv_head = index / params.splits;
  if (kv_head >= params.kv_heads) {
    return;
  }
  let visible_keys = vec4<u32>(visible(i), visible(i + 1u), visible(i + 2u), visible(i + 3u));
  let end = min(max(max(visible_keys.x, visible_keys.y), max(visible_keys.z, visible_keys.w)),
                (split + 1u) * params.split_keys);

  var greatest = vec4<f32>(lowest);
  var weight = vec4<f32>();
  var sum0 = vec4<f32>();
  var sum1 = vec4<f32>();
  var sum2 = vec4<f32>();
  var sum3 = vec4<f32>();
  let first_key = split * params.split_keys;
  for (var start = first_key; start < end; start += lanes) {
    let key = start + lane;
    let key_start = min(key, live_keys() - 1u) * params.kv_token + kv_head * params.kv_head;
    var score = vec4<f32>();
    for (var first = 0u; first < params.head_size; first += q_part) {
      if (start == first_key || params.head_size > q_part) {
        workgroupBarrier();
        load_q(i, kv_head, first, lane);
        workgroupBarrier();
      }
      score += dot_rows(key_start, first, min(params.head_size - first, q_part));
    }
    if (masked && key < live_keys()) {
      score += vec4<f32>(mask_at(i, kv_head, key), mask_at(i + 1u, kv_head, key), mask_at(i + 2u, kv_head, key),
                         mask_at(i + 3u, kv_head, key));
    }
    let seen = vec4<u32>(key) < visible_keys;
    workgroupBarrier();
    scores[lane] = select(vec4<f32>(lowest), score, seen);
    workgroupBarrier();

    let count = min(end - start, lanes);
    var new_greatest = greatest;
    for (var j = 0u; j < count; j++) {
      new_greatest = max(new_greatest, scores[j]);
    }
    workgroupBarrier();
    scores[lane] = select(vec4<f32>(), exp(score - new_greatest), seen);
    workgroupBarrier();

    // What was summed so far counts less when a greater score is found.
    let fade = exp(greatest - new_greatest);
    greatest = new_greatest;
    weight *= fade;
    sum0 *= fade;
    sum1 *= fade;
    sum2 *= fade;
    sum3 *= fade;
    for (var j = 0u; j < count; j++) {
      let at = (start + j) * params.kv_token + kv_head * params.kv_head;
      let w = scores[j];
      weight += w;
      if (first_d < params.head_size) {
        sum0 += w * f32(v[at + first_d]);
      }
      if (d_tiles > 1u && first_d + lanes < params.head_size) {
        sum1 += w * f32(v[at + first_d + lanes]);
      }
      if (d_tiles > 2u) {
        if (first_d + 2u * lanes < params.head_size) {
          sum2 += w * f32(v[at + first_d + 2u * lanes]);
        }
        if (first_d + 3u * lanes < params.head_size) {
          sum3 += w * f32(v[at + first_d + 3u * lanes]);
        }
      }
    }
  }
  store_rows(i, kv_head, split, first_d, sum0, greatest, weight);
  if (d_tiles > 1u) {
    store_rows(i, kv_head, split, first_d + lanes, sum1, greatest, weight);
  }
  if (d_tiles > 2u) {
    store_rows(i, kv_head, split, first_d + 2u * lanes, sum2, greatest, weight);
    store_rows(i, kv_head, split, first_d + 3u * lanes, sum3, greatest, weight);
  }
}
