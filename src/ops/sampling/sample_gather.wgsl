// Gathers the weights that top_k and top_p can keep, so that the last kernel has few to look at.
//
// The histogram (sample_weights.wgsl) tells in which power of two the last kept weight lies; everything from there up is
// gathered, in the order of ids: entries[512 * c + j] = (weight, id) for j < counts[c]. One workgroup a chunk of 512.
// use: grid, logit_rank, wide
// limits: workgroup_bytes = 256

@group(0) @binding(0) var<storage, read> weights: array<u32>;
@group(0) @binding(1) var<storage, read> histogram: array<u32>;
@group(0) @binding(2) var<storage, read_write> entries: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read_write> counts: array<u32>;

struct Params {
  count: u32,
  top_k: u32,  // 0: all
  top_p: u32,  // in units of 2^-32; 0: all
}
@group(1) @binding(0) var<uniform> params: Params;

var<workgroup> kept: array<u32, 64>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let chunk = grid_index(workgroup, workgroups);
  let least = least_weight();
  let first = chunk * kLogitChunk + lane * 8u;  // a lane has 8 weights in a row
  var mine = 0u;
  for (var id = first; id < min(first + 8u, params.count); id++) {
    mine += select(0u, 1u, weights[id] >= least);
  }
  kept[lane] = mine;
  workgroupBarrier();
  if (chunk * kLogitChunk >= params.count) {
    return;
  }
  var at = chunk * kLogitChunk;
  for (var other = 0u; other < lane; other++) {
    at += kept[other];
  }
  for (var id = first; id < min(first + 8u, params.count); id++) {
    if (weights[id] >= least) {
      entries[at] = vec2<u32>(weights[id], id);
      at++;
    }
  }
  if (lane == 63u) {
    counts[chunk] = at - chunk * kLogitChunk;
  }
}

// A power of two that no weight which top_k or, without it, top_p keeps lies below.
fn least_weight() -> u32 {
  var total = vec2<u32>(0u);
  for (var bin = 0u; bin < 31u; bin++) {
    total = wide_add(total, vec2<u32>(histogram[32u + bin], histogram[64u + bin]));
  }
  let wanted = wide_scale(total, params.top_p);
  var count = 0u;
  var sum = vec2<u32>(0u);
  for (var bin = 30u; bin > 0u; bin--) {
    count += histogram[bin];
    sum = wide_add(sum, vec2<u32>(histogram[32u + bin], histogram[64u + bin]));
    let enough = select(count > 0u && !wide_less(sum, wanted), count >= params.top_k, params.top_k > 0u);
    if (enough) {
      return 1u << bin;
    }
  }
  return 1u;
}
