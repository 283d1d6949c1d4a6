// The order of logits by their bits: a larger logit has a larger rank, -0 and +0 have the same, and NaN has 0, the
// smallest. Bits, because a shader compiler may take it that there is no NaN.
const kLogitChunk = 512u;  // logits that one workgroup of a sampling kernel reads

fn logit_rank(bits: u32) -> u32 {
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return 0u;
  }
  if (bits == 0x80000000u) {
    return 0x80000000u;
  }
  return select(bits | 0x80000000u, ~bits, (bits & 0x80000000u) != 0u);
}

// The better one of two (rank, id): the larger logit, of equal ones the lower id.
fn better_logit(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return select(a, b, b.x > a.x || (b.x == a.x && b.y < a.y));
}

var<workgroup> parts: array<vec2<u32>, 64>;

// The best of the (rank, id) of a workgroup's 64 invocations.
fn best_of_workgroup(mine: vec2<u32>, lane: u32) -> vec2<u32> {
  parts[lane] = mine;
  workgroupBarrier();
  for (var half = 32u; half > 0u; half /= 2u) {
    if (lane < half) {
      parts[lane] = better_logit(parts[lane], parts[lane + half]);
    }
    workgroupBarrier();
  }
  return parts[0];
}
