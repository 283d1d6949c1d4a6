// y = h * W^T + bias for up to three 4-bit weights W, one below the other, in f32, for few rows of x.
//
// h is x, or with norm x / sqrt(mean(x^2) + eps) * extra: the squares are summed as x is read, and the root divides
// the products. With swiglu there are two weights and y0 = silu(h * W0^T) * (h * W1^T). Without norm, extra may be a
// residual that is added to y0.
// x: [m, k]; extra: [k] or like y0; blocks, scales: as q4_pack.wgsl and pack_columns.wgsl lay them out; y0: [m, n0]
// and so on.
// One workgroup multiplies one row of x with 16 rows of the weights. Sixteen neighbouring invocations read the blocks
// of 16 neighbouring rows (256 bytes in one piece; with swiglu, 8 rows of either weight); k is split among 16 such
// slices, whose sums are added through workgroup memory.
// use: grid, q4, q4_scales, q4_operands, workgroup_sum
// variant: whole_blocks = false | true
// variant: form = plain | norm | swiglu | norm_swiglu
// limits: workgroup_bytes = 9216

alias XElement = f32;

const lanes = 256u;
const columns = 16u;
const slices = lanes / columns;
const chunk = 2048u;  // elements of k that are in workgroup memory at a time
var<workgroup> x_chunk: array<vec4<f32>, chunk / 4u>;
var<workgroup> sums: array<f32, lanes>;

// The sum of the squares of those elements of x that this invocation reads.
var<private> squares: f32;

fn x_at(token: u32, k: u32) -> f32 {
  if (k >= params.k) {
    return 0.0;
  }
  let v = x[token * params.k + k];
  if (norm) {
    squares += v * v;
    return v * extra[k];
  }
  return v;
}

fn load_chunk(token: u32, first: u32, lane: u32) {
  for (var i = lane; i < chunk / 4u && first + i * 4u < round_up_32(params.k); i += lanes) {
    let k = first + i * 4u;
    x_chunk[i] = vec4<f32>(x_at(token, k), x_at(token, k + 1u), x_at(token, k + 2u), x_at(token, k + 3u));
  }
}

fn round_up_32(k: u32) -> u32 {
  return (k + 31u) / 32u * 32u;
}

// What one word of the weights, elements k to k + 7, adds; x_chunk[i] holds x from k on.
fn word_product(word: u32, i: u32, k: u32, row: u32) -> f32 {
  return dot(scale_four(q4_first(word), k, row), x_chunk[i]) +
         dot(scale_four(q4_second(word), k + 4u, row), x_chunk[i + 1u]);
}

// The row of the dispatch that column `i` of a workgroup is.
fn row_of(tile: u32, i: u32) -> u32 {
  if (swiglu) {
    return tile * (columns / 2u) + i % (columns / 2u) + i / (columns / 2u) * params.n0;
  }
  return tile * columns + i;
}

// The finished product of column i of the workgroup.
fn product(i: u32, row: u32, factor: f32) -> f32 {
  var result = 0.0;
  for (var s = 0u; s < slices; s++) {
    result += sums[s * columns + i];
  }
  return biased(row, result * factor);
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let index = grid_index(workgroup, workgroups);
  let token = index % params.m;
  let tile = index / params.m;
  let row = row_of(tile, lane % columns);
  let safe_row = min(row, params.rows - 1u);
  let slice = lane / columns;
  var sum = 0.0;
  for (var first = 0u; first < params.k; first += chunk) {
    workgroupBarrier();
    load_chunk(token, first, lane);
    workgroupBarrier();
    let chunk_blocks = (min(params.k - first, chunk) + 31u) / 32u;
    for (var b = slice; b < chunk_blocks; b += slices) {
      let k = first + b * 32u;
      let words = blocks[k / 32u * params.block_rows + params.block_row + safe_row];
      let i = b * 8u;
      let product = word_product(words.x, i, k, safe_row) + word_product(words.y, i + 2u, k + 8u, safe_row) +
                    word_product(words.z, i + 4u, k + 16u, safe_row) + word_product(words.w, i + 6u, k + 24u, safe_row);
      sum += product * block_scale(k, safe_row);
    }
  }
  var factor = 1.0;
  if (norm) {
    factor = inverseSqrt(workgroup_sum(squares, lane) / f32(params.k) + params.eps);
    workgroupBarrier();
  }
  sums[lane] = sum;
  workgroupBarrier();
  if (swiglu) {
    if (lane < columns / 2u && row < params.n0) {
      let gate = product(lane, row, factor);
      store(token, row, silu(gate) * product(lane + columns / 2u, row + params.n0, factor));
    }
  } else if (lane < columns) {
    store(token, row, product(lane, safe_row, factor));
  }
}
