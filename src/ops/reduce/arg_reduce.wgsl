// y[kept] = index of the largest (or smallest) of x[kept, reduced], the first one of equals; x is f32 or i32, y i32.
//
// Box and lanes as in reduce.wgsl: an invocation or a workgroup an element of y.
// use: grid, reduction
// limits: workgroup_bytes = 512
// variant: op = argmax | argmin
// variant: Elem = f32 | i32
// variant: lanes = 1 | 64

@group(0) @binding(0) var<storage, read> x: array<Elem>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

struct Params {
  count: u32,   // elements of y
  length: u32,  // elements that are compared, at least 1
  kept_rank: u32,
  rank: u32,    // of the whole box
  dims: array<vec4<u32>, 8>,
}
@group(1) @binding(0) var<uniform> params: Params;

struct Candidate {
  value: Elem,
  index: u32,
}
alias Part = Candidate;
alias Result = u32;

// The best of elements first, first + step, ... and of element 0, with which every part starts.
fn reduced(i: u32, first: u32, step: u32) -> Candidate {
  let start = box_offset(i, 0u, params.kept_rank);
  var result = Candidate(x[start], 0u);
  for (var k = first; k < params.length; k += step) {
    result = combine(result, Candidate(x[start + box_offset(k, params.kept_rank, params.rank)], k));
  }
  return result;
}

fn combine(a: Candidate, b: Candidate) -> Candidate {
  var wins = b.value > a.value;
  if (op == op_argmin) {
    wins = b.value < a.value;
  }
  // NaN counts as the largest and as the smallest, as in torch.
  let a_is_nan = !(a.value == a.value);
  let b_is_nan = !(b.value == b.value);
  let equal = b.value == a.value || (a_is_nan && b_is_nan);
  if ((wins && !a_is_nan) || (b_is_nan && !a_is_nan) || (equal && b.index < a.index)) {
    return b;
  }
  return a;
}

fn finish(part: Candidate) -> u32 {
  return part.index;
}
