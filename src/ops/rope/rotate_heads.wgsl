// Rotary embedding of queries and keys in one dispatch. For each head and pair (a, b) of its first `rotary` elements:
//   a' = a * cos - b * sin,  b' = b * cos + a * sin
// A pair is (2i, 2i + 1) and shares one angle, or with `halves` (i, i + rotary / 2), where cos and sin have an entry for
// each element. The other elements of a head pass through.
//
// xq, q: [tokens, q_heads, head_size]; xk, k: [tokens, k_heads, head_size], where a batch repeats the positions:
// position = first_position + token % steps. cos, sin: rows of `angles` elements, a row a position.
// One invocation a pair, or two of the elements that pass through.
// use: live, grid
// variant: halves = false | true

@group(0) @binding(0) var<storage, read> xq: array<f32>;
@group(0) @binding(1) var<storage, read> xk: array<f32>;
@group(0) @binding(2) var<storage, read> cos_table: array<f32>;
@group(0) @binding(3) var<storage, read> sin_table: array<f32>;
@group(0) @binding(4) var<storage, read_write> q: array<f32>;
@group(0) @binding(5) var<storage, read_write> k: array<f32>;

struct Params {
  q_pairs: u32,  // in all of xq; the pairs of xk follow
  k_pairs: u32,
  q_heads: u32,
  k_heads: u32,
  head_size: u32,
  rotary: u32,
  angles: u32,
  steps: u32,
  first_position: u32,
  position_entry: u32,  // of a SymInt that is added to first_position, or 0
}
@group(1) @binding(0) var<uniform> params: Params;

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

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = grid_index(workgroup, workgroups) * 64u + lane;
  if (i < params.q_pairs) {
    let pair = pair_at(i, params.q_heads);
    let turned = rotated(pair, xq[pair.first], xq[pair.second]);
    q[pair.first] = turned.x;
    q[pair.second] = turned.y;
  } else if (i - params.q_pairs < params.k_pairs) {
    let pair = pair_at(i - params.q_pairs, params.k_heads);
    let turned = rotated(pair, xk[pair.first], xk[pair.second]);
    k[pair.first] = turned.x;
    k[pair.second] = turned.y;
  }
}
