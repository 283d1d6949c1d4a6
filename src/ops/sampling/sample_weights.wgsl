// weights[i] = 2^30 * exp((logit[i] - largest) / temperature), in whole numbers, and 0 where that is below min_weight.
//
// The rule is runtime/sampling.h's, in the same steps, so that every machine gives the same numbers. sums[c]: the sum of
// chunk c (64 bits). histogram: for each n the weights in [2^n, 2^(n+1)): their count at n, their sum at 32 + n (low
// word) and 64 + n (high word). One workgroup a chunk of 512 logits.
// use: grid, logit_rank, wide
// limits: workgroup_bytes = 1408

@group(0) @binding(0) var<storage, read> logits: array<u32>;
@group(0) @binding(1) var<storage, read> best: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read_write> weights: array<u32>;
@group(0) @binding(3) var<storage, read_write> sums: array<vec2<u32>>;
@group(0) @binding(4) var<storage, read_write> histogram: array<atomic<u32>>;

struct Params {
  first: u32,
  count: u32,
  chunks: u32,
  scale: f32,       // log2(e) / temperature
  min_weight: u32,  // at least 1
}
@group(1) @binding(0) var<uniform> params: Params;

var<workgroup> chunk_sums: array<vec2<u32>, 64>;
var<workgroup> bins: array<atomic<u32>, 96>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let chunk = grid_index(workgroup, workgroups);
  var mine = vec2<u32>(0u, 0xffffffffu);
  for (var c = lane; c < params.chunks; c += 64u) {
    mine = better_logit(mine, best[c]);
  }
  let top = best_of_workgroup(mine, lane);

  var sum = vec2<u32>(0u);
  for (var k = lane; k < kLogitChunk; k += 64u) {
    let id = chunk * kLogitChunk + k;
    if (id < params.count) {
      let weight = weight_of(logits[params.first + id], top);
      weights[id] = weight;
      sum = wide_add(sum, vec2<u32>(weight, 0u));
      count_weight(weight);
    }
  }
  chunk_sums[lane] = sum;
  workgroupBarrier();
  for (var half = 32u; half > 0u; half /= 2u) {
    if (lane < half) {
      chunk_sums[lane] = wide_add(chunk_sums[lane], chunk_sums[lane + half]);
    }
    workgroupBarrier();
  }
  if (lane == 0u && chunk < params.chunks) {
    sums[chunk] = chunk_sums[0];
  }
  if (lane < 32u) {
    publish(lane);
  }
}

fn weight_of(bits: u32, top: vec2<u32>) -> u32 {
  let rank = logit_rank(bits);
  if (rank == 0u) {
    return 0u;
  }
  if (rank == top.x) {
    return 0x40000000u;
  }
  let top_bits = logits[params.first + top.y];
  if ((bits & 0x7f800000u) == 0x7f800000u || (top_bits & 0x7f800000u) == 0x7f800000u) {
    return 0u;  // infinitely far below the largest
  }
  // weight = 2^-x; x = n + fraction, exact from here on.
  let x = min((bitcast<f32>(top_bits) - bitcast<f32>(bits)) * params.scale, 40.0);
  let steps = u32(x * 1048576.0);
  let n = steps >> 20u;
  if (n > 30u) {
    return 0u;
  }
  // exp(-y) with y = fraction * ln 2 < 0.7 by its series, in units of 2^-31.
  let y = wide_product((steps & 0xfffffu) << 12u, 2977044472u).y;
  var power = 0x80000000u;
  for (var k = 9u; k > 0u; k--) {
    power = 0x80000000u - wide_product(y, power).y / k;
  }
  let weight = power >> (n + 1u);
  return select(weight, 0u, weight < params.min_weight);
}

fn count_weight(weight: u32) {
  if (weight == 0u) {
    return;
  }
  let bin = firstLeadingBit(weight);
  atomicAdd(&bins[bin], 1u);
  let before = atomicAdd(&bins[32u + bin], weight);
  if (before + weight < before) {
    atomicAdd(&bins[64u + bin], 1u);
  }
}

// Adds the workgroup's bin to all workgroups'.
fn publish(bin: u32) {
  let count = atomicLoad(&bins[bin]);
  if (count == 0u) {
    return;
  }
  atomicAdd(&histogram[bin], count);
  let low = atomicLoad(&bins[32u + bin]);
  let before = atomicAdd(&histogram[32u + bin], low);
  atomicAdd(&histogram[64u + bin], atomicLoad(&bins[64u + bin]) + select(0u, 1u, before + low < before));
}
