// y = a OP b, elementwise, on f32 or i32; a and b broadcast to y.
//
// Each invocation makes four neighbouring elements of y. Forms: `dense`, both operands have y's shape; `scalar_right` and
// `scalar_left`, that operand is a number (scalar_bits); `broadcast`, the box gives the strides of a and b.
// On i32 `div` truncates and sums and products wrap.
// use: grid, index, operand_pair
// variant: op = add | mul | div | floor_divide | floor_divide_int | trunc_divide | remainder | minimum | maximum | pow | pow_int | bit_and | bit_or | bit_xor
// variant: Elem = f32 | i32
// variant: form = dense | scalar_right | scalar_left | broadcast

@group(0) @binding(0) var<storage, read> a: array<vec4<Elem>>;
@group(0) @binding(1) var<storage, read> b: array<vec4<Elem>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4<Elem>>;

struct Params {
  count: u32,        // elements of y
  rank: u32,         // of the box
  scalar_bits: u32,  // the number, as bits of an Elem
  alpha_bits: u32,   // of add: y = a + alpha * b
  dims: array<vec4<u32>, 8>,
}
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = grid_index(workgroup, workgroups) * 256u + lane;
  if (4u * i < params.count) {
    let pair = load_pair(i);
    y[i] = apply(pair.a, pair.b);
  }
}

fn apply(a: vec4<Elem>, b: vec4<Elem>) -> vec4<Elem> {
  switch (op) {
    case op_add: { return a + bitcast<Elem>(params.alpha_bits) * b; }
    case op_mul: { return a * b; }
    case op_div: { return a / b; }
    case op_floor_divide: { return vec4<Elem>(floor(vec4<f32>(a) / vec4<f32>(b))); }
    case op_floor_divide_int: {
      let quotient = a / b;
      let inexact = differs_in_sign(a - quotient * b, b);
      return quotient - select(vec4<Elem>(0), vec4<Elem>(1), inexact);
    }
    case op_trunc_divide: { return vec4<Elem>(trunc(vec4<f32>(a) / vec4<f32>(b))); }
    case op_remainder: {
      let rest = a % b;
      return select(rest, rest + b, differs_in_sign(rest, b));
    }
    case op_minimum: { return select(b, a, (a < b) | !(a == a)); }  // NaN wins, where min would drop it
    case op_maximum: { return select(b, a, (a > b) | !(a == a)); }
    case op_pow: { return vec4<Elem>(float_pow(vec4<f32>(a), vec4<f32>(b))); }
    case op_pow_int: {
      return vec4<Elem>(vec4<i32>(int_pow(i32(a.x), i32(b.x)), int_pow(i32(a.y), i32(b.y)),
                                  int_pow(i32(a.z), i32(b.z)), int_pow(i32(a.w), i32(b.w))));
    }
    case op_bit_and: { return bitcast<vec4<Elem>>(bitcast<vec4<u32>>(a) & bitcast<vec4<u32>>(b)); }
    case op_bit_or: { return bitcast<vec4<Elem>>(bitcast<vec4<u32>>(a) | bitcast<vec4<u32>>(b)); }
    default: { return bitcast<vec4<Elem>>(bitcast<vec4<u32>>(a) ^ bitcast<vec4<u32>>(b)); }
  }
}

// Non-zero remainders whose sign is not the divisor's: where rounding down and toward zero differ.
fn differs_in_sign(remainder: vec4<Elem>, divisor: vec4<Elem>) -> vec4<bool> {
  let zero = vec4<Elem>(0);
  return (remainder != zero) & ((remainder < zero) != (divisor < zero));
}

// WGSL's pow is undefined for a negative base: the sign comes from whether the exponent is odd, and a fractional exponent
// gives NaN.
fn float_pow(base: vec4<f32>, exponent: vec4<f32>) -> vec4<f32> {
  var nan_bits = 0x7fc00000u;  // a variable, because WGSL refuses a constant NaN
  let size = select(pow(abs(base), exponent), vec4<f32>(1.0), exponent == vec4<f32>(0.0));
  let half = exponent * 0.5;
  let odd = half != floor(half);
  let of_negative = select(select(size, -size, odd), vec4<f32>(bitcast<f32>(nan_bits)), exponent != floor(exponent));
  return select(size, of_negative, base < vec4<f32>(0.0));
}

// By squaring; a negative exponent gives 1 / base^n rounded to zero, which is 0 unless the base is 1 or -1.
fn int_pow(base: i32, exponent: i32) -> i32 {
  var result = 1;
  var square = base;
  for (var n = abs(exponent); n > 0; n >>= 1u) {
    if ((n & 1) == 1) {
      result *= square;
    }
    square *= square;
  }
  return select(result, 1 / result, exponent < 0 && result != 0);
}
