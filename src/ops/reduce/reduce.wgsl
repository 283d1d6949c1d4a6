// y[kept] = OP over the reduced dims of x[kept, reduced], on f32 or i32.
//
// The first kept_rank dims of the box span y and the others the reduced elements, each as (size, x stride). With lanes = 1
// an invocation makes an element of y alone, without barriers; with lanes = 64 a workgroup shares it and a tree joins the
// parts.
// use: grid, reduction
// limits: workgroup_bytes = 256
// variant: op = sum | mean | amax | amin | prod
// variant: Elem = f32 | i32
// variant: lanes = 1 | 64

@group(0) @binding(0) var<storage, read> x: array<Elem>;
@group(0) @binding(1) var<storage, read_write> y: array<Elem>;

struct Params {
  count: u32,   // elements of y
  length: u32,  // elements that are reduced to one, at least 1
  kept_rank: u32,
  rank: u32,    // of the whole box
  mean_scale: f32,  // 1 / length
  dims: array<vec4<u32>, 8>,
}
@group(1) @binding(0) var<uniform> params: Params;

alias Part = Elem;
alias Result = Elem;

// Elements first, first + step, ... of those that make y[i], as one.
fn reduced(i: u32, first: u32, step: u32) -> Elem {
  let start = box_offset(i, 0u, params.kept_rank);
  // amax and amin start from an element, so that no identity is needed.
  var result = Elem();
  if (op == op_amax || op == op_amin) {
    result = x[start];
  } else if (op == op_prod) {
    result = Elem(1);
  }
  for (var k = first; k < params.length; k += step) {
    result = combine(result, x[start + box_offset(k, params.kept_rank, params.rank)]);
  }
  return result;
}

fn combine(a: Elem, b: Elem) -> Elem {
  switch (op) {
    case op_amax: { return select(b, a, a > b || !(a == a)); }  // NaN wins, where max would drop it
    case op_amin: { return select(b, a, a < b || !(a == a)); }
    case op_prod: { return a * b; }
    default: { return a + b; }
  }
}

fn finish(value: Elem) -> Elem {
  if (op == op_mean) {
    return Elem(f32(value) * params.mean_scale);
  }
  return value;
}
