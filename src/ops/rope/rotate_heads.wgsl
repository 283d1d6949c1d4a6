// Rotary embedding of queries and keys in one dispatch. For each head and pair (a, b) of its first `rotary` elements:
//   a' = a * cos - b * sin,  b' = b * cos + a * sin
// A pair is (2i, 2i + 1) and shares one angle, or with `halves` (i, i + rotary / 2), where cos and sin have an entry for
// each element. The other elements of a head pass through.
//
// xq, q: [tokens, q_heads, head_size]; xk, k: [tokens, k_heads, head_size], where a batch repeats the positions:
// position = first_position + token % steps. cos, sin: rows of `angles` elements, a row a position.
// One invocation a pair, or two of the elements that pass through.
// use: live, grid, rotary_pair
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
