// Writes the rows of new keys and values into their caches.
//
// k, v: [count] elements, rows of `row`; k_cache, v_cache: caches whose rows from position + live(position_entry) on are
// replaced.
// One invocation an element of both.
// use: grid, live
// variant: Kv = f32 | f16

@group(0) @binding(0) var<storage, read> k: array<f32>;
@group(0) @binding(1) var<storage, read> v: array<f32>;
@group(0) @binding(2) var<storage, read_write> k_cache: array<Kv>;
@group(0) @binding(3) var<storage, read_write> v_cache: array<Kv>;

struct Params {
  count: u32,
  row: u32,
  position: u32,
  position_entry: u32,
}
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = grid_index(workgroup, workgroups) * 64u + lane;
  if (i < params.count) {
    let at = (params.position + live(params.position_entry)) * params.row + i;
    k_cache[at] = Kv(k[i]);
    v_cache[at] = Kv(v[i]);
  }
}
