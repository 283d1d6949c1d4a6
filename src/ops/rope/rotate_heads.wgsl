// Rotary embedding of queries and keys in one dispatch. For each head and pair (a, b) of its first `rotary` elements:
//   a' = a * cos - b * sin,  b' = b * cos + a * sin
// A pair is (2i, 2i + 1) and shares one angle, or with `halves` (i, i + rotary / 2), where cos and sin have an entry for
// each element. The other elements of a head pass through.
//
// q, q_out: [tokens, q_heads, head_size]; k: [tokens, k_heads, head_size], where a batch repeats the positions:
// position = first_position + live(position_entry) + token % steps. cos_table, sin_table: rows of `angles` elements, a
// row a position. k_out: rows of k_heads * head_size; the first is out_position + live(out_entry). With `append` the
// values v, of k's shape, go to the same rows of v_out: k_out and v_out are KV caches.
// One invocation a pair of q, or a pair of k and the elements of v at the same place, or two elements that pass through.
// use: live, grid
// variant: halves = false | true
// variant: append = false | true
// variant: Kv = f32 | f16

@group(0) @binding(0) var<storage, read> q: array<f32>;
@group(0) @binding(1) var<storage, read> k: array<f32>;
@group(0) @binding(2) var<storage, read> v: array<f32>;
@group(0) @binding(3) var<storage, read> cos_table: array<f32>;
@group(0) @binding(4) var<storage, read> sin_table: array<f32>;
@group(0) @binding(5) var<storage, read_write> q_out: array<f32>;
@group(0) @binding(6) var<storage, read_write> k_out: array<Kv>;
@group(0) @binding(7) var<storage, read_write> v_out: array<Kv>;

struct Params {
  q_pairs: u32,  // in all of q; the pairs of k follow
  k_pairs: u32,
  q_heads: u32,
  k_heads: u32,
  head_size: u32,
  rotary: u32,
  angles: u32,
  steps: u32,
  first_position: u32,
  position_entry: u32,  // of a SymInt that is added to first_position, or 0
  out_position: u32,  // the first row of k_out and v_out
  out_entry: u32,  // the same for out_position
}
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = grid_index(workgroup, workgroups) * 64u + lane;
  if (i < params.q_pairs) {
    let pair = pair_at(i, params.q_heads);
    let turned = rotated(pair, q[pair.first], q[pair.second]);
    q_out[pair.first] = turned.x;
    q_out[pair.second] = turned.y;
  } else if (i - params.q_pairs < params.k_pairs) {
    let pair = pair_at(i - params.q_pairs, params.k_heads);
    let turned = rotated(pair, k[pair.first], k[pair.second]);
    let start = (params.out_position + live(params.out_entry)) * params.k_heads * params.head_size;
    k_out[start + pair.first] = Kv(turned.x);
    k_out[start + pair.second] = Kv(turned.y);
    if (append) {
      v_out[start + pair.first] = Kv(v[pair.first]);
      v_out[start + pair.second] = Kv(v[pair.second]);
    }
  }
}

struct Pair {
  first: u32,  // offsets of both elements
  second: u32,
  first_angle: u32,  // offsets in the tables
  second_angle: u32,
  turns: bool,
}

fn pair_at(i: u32, heads: u32) -> Pair {
  let pair = i % (params.head_size / 2u);
  let head = i / (params.head_size / 2u);
  let start = head * params.head_size;
  let angles = ((params.first_position + live(params.position_entry)) + head / heads % params.steps) * params.angles;
  if (pair >= params.rotary / 2u || !halves) {
    let turns = pair < params.rotary / 2u;
    let angle = select(0u, angles + pair, turns);
    return Pair(start + 2u * pair, start + 2u * pair + 1u, angle, angle, turns);
  }
  let half = params.rotary / 2u;
  return Pair(start + pair, start + pair + half, angles + pair, angles + pair + half, true);
}

fn rotated(pair: Pair, a: f32, b: f32) -> vec2<f32> {
  if (!pair.turns) {
    return vec2<f32>(a, b);
  }
  return vec2<f32>(a * cos_table[pair.first_angle] - b * sin_table[pair.first_angle],
                   b * cos_table[pair.second_angle] + a * sin_table[pair.second_angle]);
}
