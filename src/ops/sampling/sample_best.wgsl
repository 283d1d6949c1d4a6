// best[c] = (rank, id) of the largest logit of chunk c, and zeros in the histogram of the kernels that follow.
//
// logits: bits of `count` f32 from element `first` on (the last row of a tensor); best: an entry a chunk of 512 logits.
// One workgroup a chunk.
// use: grid, logit_rank
// limits: workgroup_bytes = 512

@group(0) @binding(0) var<storage, read> logits: array<u32>;
@group(0) @binding(1) var<storage, read_write> best: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> histogram: array<u32>;

struct Params {
  first: u32,
  count: u32,
}
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let chunk = grid_index(workgroup, workgroups);
  if (chunk == 0u && params.count > 0u) {
    histogram[lane] = 0u;
    histogram[64u + lane] = 0u;
  }
  var mine = vec2<u32>(0u, 0xffffffffu);
  for (var k = lane; k < kLogitChunk; k += 64u) {
    let id = chunk * kLogitChunk + k;
    if (id < params.count) {
      mine = better_logit(mine, vec2<u32>(logit_rank(logits[params.first + id]), id));
    }
  }
  let best_logit = best_of_workgroup(mine, lane);
  if (lane == 0u && chunk * kLogitChunk < params.count) {
    best[chunk] = best_logit;
  }
}
