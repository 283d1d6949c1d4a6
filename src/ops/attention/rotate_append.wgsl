// Rotary embedding of queries and keys (see rotate_heads.wgsl) with the append to a KV cache, in one dispatch: turned
// queries go to q_out, turned keys and the values to the rows of their caches from
// cache_position + live(cache_entry) on.
//
// q, q_out: [steps, q_heads, head_size]; k, v: [steps, k_heads, head_size]; k_cache, v_cache: rows of
// k_heads * head_size. cos_table, sin_table: rows of `angles` elements; that of token 0 is
// first_position + live(position_entry).
// One invocation a pair of q, or a pair of k and the elements of v at the same place.
// use: live, grid, rotary_pair
// variant: halves = false | true

@group(0) @binding(0) var<storage, read> q: array<f32>;
@group(0) @binding(1) var<storage, read> k: array<f32>;
@group(0) @binding(2) var<storage, read> v: array<f32>;
@group(0) @binding(3) var<storage, read> cos_table: array<f32>;
@group(0) @binding(4) var<storage, read> sin_table: array<f32>;
@group(0) @binding(5) var<storage, read_write> q_out: array<f32>;
@group(0) @binding(6) var<storage, read_write> k_cache: array<f32>;
@group(0) @binding(7) var<storage, read_write> v_cache: array<f32>;

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
  cache_position: u32,
  cache_entry: u32,  // the same for cache_position
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
    let start = (params.cache_position + live(params.cache_entry)) * params.k_heads * params.head_size;
    k_cache[start + pair.first] = turned.x;
    k_cache[start + pair.second] = turned.y;
    v_cache[start + pair.first] = v[pair.first];
    v_cache[start + pair.second] = v[pair.second];
  }
}
