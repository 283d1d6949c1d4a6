// Attention of one token with KV caches in one dispatch, on GPUs with subgroups. The query heads turn by the rotary
// embedding, the token's key turns and goes with its value to row `position` of the caches, and the heads attend to rows
// 0 to position: what rotate_heads.wgsl or append_kv.wgsl, then attention_rows.wgsl do in two, each waiting for the last.
//
// q: [kv_heads * group, head_size]; k, v: [kv_heads, head_size]; k_cache, v_cache: rows of [kv_heads, head_size];
// cos_table, sin_table: as in rotate_heads.wgsl; output: as in attention.wgsl.
// One workgroup takes the `group` query heads of one key head over one of `splits` ranges of the keys, so that a key and
// a value are read once. A team of `quads` neighbouring invocations holds a head, four elements each. Every team takes
// `ahead` keys at a time, all of them on their way before the first is used; a score is summed by shuffles within the
// team, and nothing waits at a barrier until the teams' sums meet in workgroup memory. All work out the turned key
// rather than wait for one that does.
// Needs subgroups of `quads` or more, filled in the order of local_invocation_index (q4_linear_subgroups.wgsl), and group
// of at most `rows`.
// use: grid, live
// variant: rows = 4 | 8
// variant: quads = 2 | 4 | 8 | 16 | 32
// variant: turn = none | neighbours | halves
// variant: Kv = f32 | f16
// limits: workgroup_bytes = 10240
enable subgroups;

@group(0) @binding(0) var<storage, read> q: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> k: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> v: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> cos_table: array<f32>;
@group(0) @binding(4) var<storage, read> sin_table: array<f32>;
@group(0) @binding(5) var<storage, read_write> k_cache: array<vec4<Kv>>;
@group(0) @binding(6) var<storage, read_write> v_cache: array<vec4<Kv>>;
@group(0) @binding(7) var<storage, read_write> output: array<f32>;

struct Params {
  position: u32,  // to which live(position_entry) is added
  position_entry: u32,
  table_row: u32,  // the same with table_entry: the row of cos_table and sin_table
  table_entry: u32,
  angles: u32,  // of a row
  turning: u32,  // quads of a head that turn, from its first on
  kv_heads: u32,
  group: u32,
  scale: f32,
  splits: u32,
  split_keys: u32,
}
@group(1) @binding(0) var<uniform> params: Params;

const lowest = -3.0e38;  // below every score, and finite: differences of it are never NaN
const lanes = 256u;
const teams = lanes / quads;
const ahead = 4u;
const together = 2u;  // rows whose sums meet in workgroup memory at a time
var<workgroup> set_sums: array<vec4<f32>, together * lanes>;  // of a row, a set of teams and a quad
var<workgroup> set_totals: array<vec2<f32>, together * teams>;  // its greatest score and weight

// Where the partner of each element of a quad is, with `halves`.
fn partner(quad: u32) -> u32 {
  let half = params.turning / 2u;
  if (turn != turn_halves || quad >= params.turning) {
    return quad;
  }
  return select(quad + half, quad - half, quad >= half);
}

// Elements of a head after rotation, from their own quad and that of their partners.
fn turned(quad: u32, own: vec4<f32>, partners: vec4<f32>) -> vec4<f32> {
  if (turn == turn_none || quad >= params.turning) {
    return own;
  }
  let row = (params.table_row + live(params.table_entry)) * params.angles;
  if (turn == turn_neighbours) {
    let a = row + quad * 2u;
    return own * vec4<f32>(cos_table[a], cos_table[a], cos_table[a + 1u], cos_table[a + 1u]) +
           own.yxwz * vec4<f32>(-sin_table[a], sin_table[a], -sin_table[a + 1u], sin_table[a + 1u]);
  }
  let a = row + quad * 4u;
  let sine = vec4<f32>(sin_table[a], sin_table[a + 1u], sin_table[a + 2u], sin_table[a + 3u]);
  return own * vec4<f32>(cos_table[a], cos_table[a + 1u], cos_table[a + 2u], cos_table[a + 3u]) +
         partners * select(sine, -sine, quad < params.turning / 2u);
}

// A quad of an output, or of the sums of a split, which attention_merge.wgsl puts together.
fn store(head: u32, split: u32, quad: u32, sum: vec4<f32>, greatest: f32, weight: f32) {
  let heads = params.kv_heads * params.group;
  let part = split * heads + head;
  let at = (part * quads + quad) * 4u;
  var result = sum;
  if (params.splits == 1u) {
    result = sum / weight;
  } else if (quad == 0u) {
    let totals = params.splits * heads * quads * 4u + part * 2u;
    output[totals] = greatest;
    output[totals + 1u] = weight;
  }
  for (var c = 0u; c < 4u; c++) {
    output[at + c] = result[c];
  }
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32, @builtin(subgroup_size) subgroup: u32,
        @builtin(subgroup_invocation_id) subgroup_lane: u32) {
  let work = grid_index(workgroup, workgroups);
  let split = work % params.splits;
  let kv_head = work / params.splits;
  if (kv_head >= params.kv_heads) {
    return;
  }
  let position = params.position + live(params.position_entry);
  let begin = split * params.split_keys;
  let end = min(position + 1u, begin + params.split_keys);
  let team = lane / quads;
  let quad = lane % quads;

  let head = kv_head * quads;
  let new_key = vec4<Kv>(turned(quad, k[head + quad], k[head + partner(quad)]));
  let new_value = vec4<Kv>(v[head + quad]);
  if (team == 0u && position / params.split_keys == split) {
    let at = position * params.kv_heads * quads + head + quad;
    k_cache[at] = new_key;
    v_cache[at] = new_value;
  }
  var q_rows = array<vec4<f32>, rows>();
  for (var r = 0u; r < rows; r++) {
    let start = (kv_head * params.group + min(r, params.group - 1u)) * quads;
    q_rows[r] = turned(quad, q[start + quad], q[start + partner(quad)]) * params.scale;
  }

  var greatest = array<f32, rows>();
  var weight = array<f32, rows>();
  var sums = array<vec4<f32>, rows>();
  for (var r = 0u; r < rows; r++) {
    greatest[r] = lowest;
  }
  for (var start = begin; start < end; start += teams * ahead) {
    var keys = array<vec4<f32>, ahead>();
    var values = array<vec4<f32>, ahead>();
    for (var j = 0u; j < ahead; j++) {
      let key = start + j * teams + team;
      keys[j] = vec4<f32>(new_key);
      values[j] = vec4<f32>(new_value);
      if (key < position) {
        let at = key * params.kv_heads * quads + head + quad;
        keys[j] = vec4<f32>(k_cache[at]);
        values[j] = vec4<f32>(v_cache[at]);
      }
    }
    for (var r = 0u; r < rows; r++) {
      var scores = array<f32, ahead>();
      var top = greatest[r];
      for (var j = 0u; j < ahead; j++) {
        var score = dot(q_rows[r], keys[j]);
        for (var distance = quads / 2u; distance > 0u; distance /= 2u) {
          score += subgroupShuffleXor(score, distance);
        }
        scores[j] = select(lowest, score, start + j * teams + team < end);
        top = max(top, scores[j]);
      }
      // What was summed so far counts less when a greater score is found.
      let fade = exp(greatest[r] - top);
      greatest[r] = top;
      weight[r] *= fade;
      sums[r] *= fade;
      for (var j = 0u; j < ahead; j++) {
        let w = select(exp(scores[j] - top), 0.0, scores[j] == lowest);
        weight[r] += w;
        sums[r] += w * values[j];
      }
    }
  }

  // The teams of a subgroup become one set, which its first team holds.
  for (var distance: u32 = quads; distance < subgroup; distance *= 2u) {
    for (var r = 0u; r < rows; r++) {
      let other = subgroupShuffleXor(greatest[r], distance);
      let top = max(greatest[r], other);
      let fade = exp(greatest[r] - top);
      let other_fade = exp(other - top);
      greatest[r] = top;
      weight[r] = weight[r] * fade + subgroupShuffleXor(weight[r], distance) * other_fade;
      sums[r] = sums[r] * fade + subgroupShuffleXor(sums[r], distance) * other_fade;
    }
  }
  let sets = lanes / subgroup;
  let own_set = lane / subgroup;
  for (var first = 0u; first < rows; first += together) {
    workgroupBarrier();
    if (subgroup_lane < quads) {
      for (var r = 0u; r < together; r++) {
        set_sums[(r * sets + own_set) * quads + quad] = sums[first + r];
        if (quad == 0u) {
          set_totals[r * sets + own_set] = vec2<f32>(greatest[first + r], weight[first + r]);
        }
      }
    }
    workgroupBarrier();
    let row = first + lane / quads;
    if (lane < together * quads && row < params.group) {
      let of_row = lane / quads * sets;
      var top = lowest;
      for (var s = 0u; s < sets; s++) {
        top = max(top, set_totals[of_row + s].x);
      }
      var sum = vec4<f32>();
      var total = 0.0;
      for (var s = 0u; s < sets; s++) {
        let factor = exp(set_totals[of_row + s].x - top);
        sum += set_sums[(of_row + s) * quads + quad] * factor;
        total += set_totals[of_row + s].y * factor;
      }
      store(kv_head * params.group + row, split, quad, sum, top, total);
    }
  }
}
