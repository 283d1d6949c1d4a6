// The sum of one value from each invocation of a workgroup, for all of them, by a tree. All must call it. The kernel
// declares `lanes`, its workgroup size (a power of two), and `var<workgroup> sums: array<f32, lanes>`.
fn workgroup_sum(value: f32, lane: u32) -> f32 {
  workgroupBarrier();  // an earlier sum has been read by all
  sums[lane] = value;
  workgroupBarrier();
  for (var half = lanes / 2u; half > 0u; half /= 2u) {
    if (lane < half) {
      sums[lane] += sums[lane + half];
    }
    workgroupBarrier();
  }
  return sums[0];
}
