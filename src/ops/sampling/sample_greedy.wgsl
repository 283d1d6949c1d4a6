// The id of the largest logit goes to ring[slot] and to tokens[0]; when no logit is a number, -1 to the ring and token 0.
//
// best: (rank, id) of each of `chunks` chunks (sample_best.wgsl). One workgroup.
// use: logit_rank
// limits: workgroup_bytes = 512

@group(0) @binding(0) var<storage, read> best: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read_write> ring: array<i32>;
@group(0) @binding(2) var<storage, read_write> tokens: array<i32>;

struct Params {
  chunks: u32,
  slot: u32,
}
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) lane: u32) {
  var mine = vec2<u32>(0u, 0xffffffffu);
  for (var chunk = lane; chunk < params.chunks; chunk += 64u) {
    mine = better_logit(mine, best[chunk]);
  }
  let best_logit = best_of_workgroup(mine, lane);
  if (lane == 0u && params.chunks > 0u) {
    let id = select(i32(best_logit.y), -1, best_logit.x == 0u);
    ring[params.slot] = id;
    tokens[0] = max(id, 0);
  }
}
