// Operands and stores of the kernels that multiply with up to three 4-bit weights, one below the other. The kernel
// declares the alias XElement, in which it reads x, and the variant `form`.
@group(0) @binding(0) var<storage, read> x: array<XElement>;
@group(0) @binding(1) var<storage, read> extra: array<f32>;
@group(0) @binding(2) var<storage, read> blocks: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> scales: array<f32>;
@group(0) @binding(4) var<storage, read> bias: array<f32>;
@group(0) @binding(5) var<storage, read_write> y0: array<f32>;
@group(0) @binding(6) var<storage, read_write> y1: array<f32>;
@group(0) @binding(7) var<storage, read_write> y2: array<f32>;

struct Params {
  m: u32,
  k: u32,
  rows: u32,  // of the weights that this dispatch takes; with swiglu, n0 of the gate and n0 of the other below them
  block_row: u32,  // its first row in blocks, which hold block_rows
  block_rows: u32,
  scale_row: u32,  // and in scales, which have scale_rows columns
  scale_rows: u32,
  bias_row: u32,  // and in bias
  column: u32,  // and in the outputs
  n0: u32,  // columns of y0
  n1: u32,
  n2: u32,
  group_size: u32,
  groups: u32,
  eps: f32,
  has_bias: u32,
  has_residual: u32,
}
@group(1) @binding(0) var<uniform> params: Params;

// What happens before and after the product, by the variant `form`: x is normalised; the rows are two weights of n0
// rows each, of which one gates the other, and only y0 is stored.
const norm = form == form_norm || form == form_norm_swiglu;
const swiglu = form == form_swiglu || form == form_norm_swiglu;

// The product of row `row` of the dispatch, with its bias.
fn biased(row: u32, value: f32) -> f32 {
  if (params.has_bias != 0u) {
    return value + bias[params.bias_row + row];
  }
  return value;
}

// Row `row` of the dispatch is a column of one of the outputs; nothing where it is past the last.
fn store(token: u32, row: u32, value: f32) {
  if (row >= select(params.rows, params.n0, swiglu)) {
    return;
  }
  let column = params.column + row;
  if (column < params.n0) {
    let at = token * params.n0 + column;
    var result = value;
    if (params.has_residual != 0u) {
      result += extra[at];
    }
    y0[at] = result;
  } else if (column < params.n0 + params.n1) {
    y1[token * params.n1 + column - params.n0] = value;
  } else {
    y2[token * params.n2 + column - params.n0 - params.n1] = value;
  }
}

fn silu(v: f32) -> f32 {
  return v / (1.0 + exp(-v));
}
