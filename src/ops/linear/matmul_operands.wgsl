// Operands and stores of c[b, m, n] = alpha * sum_k x[b, m, k] * w[b, k, n] + beta * added[m, n].
//
// x: [batches, m, k]; w: element (b, k, n) is at b * w_batch + k * w_k + n * w_n; added (optional): element (m, n) is at
// m * added_m + n * added_n; c: [batches, m, c_columns].
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> w: array<f32>;
@group(0) @binding(2) var<storage, read> added: array<f32>;
@group(0) @binding(3) var<storage, read_write> c: array<f32>;

struct Params {
  batches: u32,
  m: u32,
  n: u32,  // columns of w
  k: u32,
  first_column: u32,  // of c: w holds columns [first_column, first_column + n) of a larger weight
  c_columns: u32,
  w_batch: u32,
  w_k: u32,
  w_n: u32,
  has_added: u32,
  added_m: u32,
  added_n: u32,
  alpha: f32,
  beta: f32,
}
@group(1) @binding(0) var<uniform> params: Params;

fn store(batch: u32, row: u32, column: u32, sum: f32) {
  if (row < params.m && column < params.n) {
    let c_column = params.first_column + column;
    var result = params.alpha * sum;
    if (params.has_added != 0u) {
      result += params.beta * added[row * params.added_m + c_column * params.added_n];
    }
    c[(batch * params.m + row) * params.c_columns + c_column] = result;
  }
}
