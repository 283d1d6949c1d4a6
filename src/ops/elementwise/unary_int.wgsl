// y = OP(x), elementwise, on i32; p and q are the bounds of clamp.
//
// Each invocation makes four neighbouring elements.
// use: grid, each_element
// variant: op = abs | neg | sign | relu | clamp

alias Number = i32;

fn apply(x: vec4<i32>) -> vec4<i32> {
  switch (op) {
    case op_abs: { return abs(x); }
    case op_neg: { return -x; }
    case op_sign: { return sign(x); }
    case op_relu: { return max(x, vec4<i32>(0)); }
    default: { return min(max(x, vec4<i32>(params.p)), vec4<i32>(params.q)); }  // clamp
  }
}
