// Stores of a kernel that multiplies with up to three 4-bit weights, one below the other. It declares `bias`, `extra`,
// `y0` to `y2`, and the parameters m, bias_row, column, n0, n1, n2 (columns of the outputs), has_bias and has_residual.
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
