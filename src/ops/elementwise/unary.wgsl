// y = OP(x), elementwise, on f32; p and q are the operator's numbers (bounds of clamp, exponent of pow, slope, ...).
//
// Each invocation makes four neighbouring elements. Where WGSL's own function is only good to 1e-3 (asin, acos), overflows
// (tanh) or cancels near zero (expm1, sinh), another formula stands.
// use: grid, each_element
// variant: op = abs | neg | sign | floor | ceil | round | trunc | sqrt | rsqrt | reciprocal | square | pow | pow_int | exp | exp2 | expm1 | log | log2 | log10 | log1p | sin | cos | tan | asin | acos | atan | sinh | cosh | tanh | erf | sigmoid | relu | clamp | leaky_relu | elu | gelu | gelu_tanh | silu | hardswish | hardsigmoid | hardshrink

alias Number = f32;

fn apply(x: vec4<f32>) -> vec4<f32> {
  switch (op) {
    case op_abs: { return abs(x); }
    case op_neg: { return -x; }
    case op_sign: { return sign(x); }
    case op_floor: { return floor(x); }
    case op_ceil: { return ceil(x); }
    case op_round: { return round(x); }
    case op_trunc: { return trunc(x); }
    case op_sqrt: { return sqrt(x); }
    case op_rsqrt: { return inverseSqrt(x); }
    case op_reciprocal: { return 1.0 / x; }
    case op_square: { return x * x; }
    case op_pow: { return pow(x, vec4<f32>(params.p)); }
    case op_pow_int: { return int_power(x, i32(params.p)); }
    case op_exp: { return exponential(x); }
    case op_exp2: { return exp2(x); }
    case op_expm1: { return expm1(x); }
    case op_log: { return log(x); }
    case op_log2: { return log2(x); }
    case op_log10: { return log(x) * 0.4342944819; }
    case op_log1p: { return log1p(x); }
    case op_sin: { return sin(near_zero(x)); }
    case op_cos: { return cos(near_zero(x)); }
    case op_tan: { return tan(near_zero(x)); }
    case op_asin: { return atan2(x, sqrt((1.0 - x) * (1.0 + x))); }
    case op_acos: { return atan2(sqrt((1.0 - x) * (1.0 + x)), x); }
    case op_atan: { return atan(x); }
    case op_sinh: { return sinh_of(x); }
    case op_cosh: { return 0.5 * (exponential(x) + exponential(-x)); }
    case op_tanh: { return bounded_tanh(x); }
    case op_erf: { return erf(x); }
    case op_sigmoid: { return sigmoid(x); }
    case op_relu: { return select(x, vec4<f32>(0.0), x < vec4<f32>(0.0)); }
    case op_clamp: { return clamp_or_nan(x); }
    case op_leaky_relu: { return select(x, params.p * x, x < vec4<f32>(0.0)); }
    case op_elu: { return select(x, params.p * expm1(x), x < vec4<f32>(0.0)); }
    case op_gelu: { return 0.5 * x * (1.0 + erf(x * 0.7071067812)); }
    case op_gelu_tanh: { return 0.5 * x * (1.0 + bounded_tanh(0.7978845608 * (x + 0.044715 * x * x * x))); }
    case op_silu: { return x * sigmoid(x); }
    case op_hardswish: { return x * clamp(x + 3.0, vec4<f32>(0.0), vec4<f32>(6.0)) / 6.0; }
    case op_hardsigmoid: { return clamp(x + 3.0, vec4<f32>(0.0), vec4<f32>(6.0)) / 6.0; }
    default: { return select(x, vec4<f32>(0.0), abs(x) <= vec4<f32>(params.p)); }  // hardshrink
  }
}

// NaN stays NaN, as everywhere: min and max would drop it. A lower bound above the upper one gives the upper one.
fn clamp_or_nan(x: vec4<f32>) -> vec4<f32> {
  let low = vec4<f32>(params.p);
  let high = vec4<f32>(params.q);
  let raised = select(x, low, x < low);
  return select(raised, high, raised > high);
}

// NaN stays NaN: SwiftShader's exp gives 0 for it.
fn exponential(x: vec4<f32>) -> vec4<f32> {
  return select(exp(x), x, !(x == x));
}

fn sigmoid(x: vec4<f32>) -> vec4<f32> {
  return 1.0 / (1.0 + exponential(-x));
}

// Some drivers compute tanh from exp(2x), which overflows and cancels near zero; at 15 it is 1 in f32.
fn bounded_tanh(x: vec4<f32>) -> vec4<f32> {
  let x2 = x * x;
  let series = x * (1.0 + x2 * (-0.33333333 + x2 * (0.13333333 - x2 * 0.053968254)));
  let bounded = select(x, 15.0 * sign(x), abs(x) > vec4<f32>(15.0));  // clamp would drop NaN
  return select(tanh(bounded), series, abs(x) < vec4<f32>(0.25));
}

fn sinh_of(x: vec4<f32>) -> vec4<f32> {
  let x2 = x * x;
  let series = x * (1.0 + x2 * (0.16666667 + x2 * 0.0083333333));
  return select(0.5 * (exponential(x) - exponential(-x)), series, abs(x) < vec4<f32>(0.25));
}

// x less a multiple of 2 pi, in -pi to pi, where WGSL bounds the error of sin and cos. 2 pi is split in two (Cody and
// Waite) so that the product with the first part is exact for turns up to 2^11.
fn near_zero(x: vec4<f32>) -> vec4<f32> {
  let turns = round(x * 0.15915494309);
  return (x - turns * 6.28125) - turns * 0.0019353071796;
}

// Abramowitz and Stegun 7.1.26: absolute error below 1.5e-7; near zero the series.
fn erf(x: vec4<f32>) -> vec4<f32> {
  let t = 1.0 / (1.0 + 0.3275911 * abs(x));
  let polynomial = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  let x2 = x * x;
  let series = x * (1.1283792 + x2 * (-0.37612639 + x2 * (0.11283792 - x2 * 0.026866171)));
  return select(sign(x) * (1.0 - polynomial * exponential(-x2)), series, abs(x) < vec4<f32>(0.25));
}

// Near zero exp(x) - 1 and log(1 + x) cancel; series take over there.
fn expm1(x: vec4<f32>) -> vec4<f32> {
  let series = x * (1.0 + x * (0.5 + x * (0.16666667 + x * (0.041666667 + x * 0.0083333333))));
  return select(exponential(x) - 1.0, series, abs(x) < vec4<f32>(0.25));
}

fn log1p(x: vec4<f32>) -> vec4<f32> {
  let r = x / (2.0 + x);  // log(1 + x) = 2 atanh(r)
  let r2 = r * r;
  let series = 2.0 * r * (1.0 + r2 * (0.33333333 + r2 * (0.2 + r2 * 0.14285714)));
  return select(log(1.0 + x), series, abs(x) < vec4<f32>(0.25));
}

// By squaring: exact for small exponents and right for negative bases, where pow is undefined.
fn int_power(base: vec4<f32>, exponent: i32) -> vec4<f32> {
  var result = vec4<f32>(1.0);
  var square = base;
  for (var n = abs(exponent); n > 0; n >>= 1u) {
    if ((n & 1) == 1) {
      result *= square;
    }
    square *= square;
  }
  if (exponent < 0) {
    return 1.0 / result;
  }
  return result;
}
