// Entry point of a kernel that reduces elements of a box. With lanes = 1 an invocation makes an element of y alone,
// without barriers; with lanes = 64 a workgroup shares it and a tree joins the parts. The kernel declares y, the alias
// Part, the choice lanes, Params with count and dims, and the functions reduced, combine and finish.
var<workgroup> parts: array<Part, 64>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let group = grid_index(workgroup, workgroups);
  if (lanes == 1) {
    let i = group * 64u + lane;
    if (i < params.count) {
      y[i] = finish(reduced(i, 0u, 1u));
    }
  } else {
    parts[lane] = reduced(min(group, params.count - 1u), lane, 64u);
    workgroupBarrier();
    for (var half = 32u; half > 0u; half /= 2u) {
      if (lane < half) {
        parts[lane] = combine(parts[lane], parts[lane + half]);
      }
      workgroupBarrier();
    }
    if (lane == 0u && group < params.count) {
      y[group] = finish(parts[0]);
    }
  }
}

// The offset of element `i` of a part of a box: its dims [first, last), as (size, stride, unused, unused). The kernel's
// Params hold `dims`; the part may be empty.
fn box_offset(i: u32, first: u32, last: u32) -> u32 {
  var rest = i;
  var offset = 0u;
  for (var d = last; d > first; d--) {
    let dim = params.dims[d - 1u];
    offset += (rest % dim.x) * dim.y;
    rest /= dim.x;
  }
  return offset;
}
