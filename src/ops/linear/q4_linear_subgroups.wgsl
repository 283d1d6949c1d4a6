// y = h * W^T + bias for up to three 4-bit weights W, one below the other, in f32, for few rows of x on GPUs with
// subgroups: as q4_linear_gemv.wgsl (same operands and forms), 2 to 3 times faster on an H200.
//
// One workgroup multiplies one row of x with columns * owned rows of the weights. `columns` neighbouring invocations
// read the blocks of as many neighbouring rows, and each owns `owned` rows, `columns` apart (with swiglu one half of
// them in either weight), so that an element of x is read from workgroup memory once for all of them. k is split among
// 256 / columns such slices, whose sums are added by shuffles, then through workgroup memory.
// Needs k and the group size in whole blocks of 32, subgroups of 16 or more, and invocations that fill subgroups in
// the order of local_invocation_index, as all implementations of one-dimensional workgroups do.
// use: grid, q4_mantissa, q4_operands
// variant: columns = 4 | 16
// variant: owned = 2 | 4
// variant: form = plain | norm | swiglu | norm_swiglu
// limits: workgroup_bytes = 20544
enable subgroups;

alias XElement = vec4<f32>;

const lanes = 256u;
const slices = lanes / columns;
const tile = columns * owned;
const chunk = 4096u;  // elements of k that are in workgroup memory at a time
var<workgroup> x_chunk: array<vec4<f32>, chunk / 4u>;
var<workgroup> sums: array<f32, lanes / 16u * tile>;  // of each subgroup and row
var<workgroup> squares: array<f32, lanes / 16u>;  // of each subgroup

// Elements of x for one chunk, times the norm's weight; returns the sum of the squares of those read here.
fn load_chunk(token: u32, first: u32, lane: u32) -> f32 {
  var square = 0.0;
  for (var i = lane; i < min(chunk, params.k - first) / 4u; i += lanes) {
    let at = first / 4u + i;
    var v = x[token * params.k / 4u + at];
    if (norm) {
      square += dot(v, v);
      v *= vec4<f32>(extra[at * 4u], extra[at * 4u + 1u], extra[at * 4u + 2u], extra[at * 4u + 3u]);
    }
    x_chunk[i] = v;
  }
  return square;
}

// Row of the dispatch that is number i of a workgroup's.
fn row_of(index: u32, i: u32) -> u32 {
  if (swiglu) {
    return index * (tile / 2u) + i % (tile / 2u) + i / (tile / 2u) * params.n0;
  }
  return index * tile + i;
}

// The finished product of row i of the workgroup.
fn product(i: u32, row: u32, groups: u32, factor: f32) -> f32 {
  var result = 0.0;
  for (var g = 0u; g < groups; g++) {
    result += sums[g * tile + i];
  }
  return biased(row, result * factor);
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32, @builtin(subgroup_size) subgroup: u32,
        @builtin(subgroup_invocation_id) subgroup_lane: u32) {
  let work = grid_index(workgroup, workgroups);
  let token = work % max(params.m, 1u);
  let index = work / max(params.m, 1u);
  let slice = lane / columns;
  var rows = array<u32, owned>();
  for (var o = 0u; o < owned; o++) {
    rows[o] = min(row_of(index, lane % columns + o * columns), params.rows - 1u);
  }
  var sum = array<f32, owned>();
  var square = 0.0;
  for (var first = 0u; first < params.k; first += chunk) {
    workgroupBarrier();
    square += load_chunk(token, first, lane);
    workgroupBarrier();
    let count = min(params.k - first, chunk) / 32u;
    for (var b = slice; b < count; b += slices) {
      let block = first / 32u + b;
      let scale_start = block * 32u / params.group_size * params.scale_rows + params.scale_row;
      for (var o = 0u; o < owned; o++) {
        let words = blocks[block * params.block_rows + params.block_row + rows[o]];
        sum[o] += scales[scale_start + rows[o]] * block_product(words, b * 8u);
      }
    }
  }
  // Slices of a row within a subgroup; then its first invocations hold a sum for each row.
  for (var o = 0u; o < owned; o++) {
    for (var distance: u32 = columns; distance < subgroup; distance *= 2u) {
      sum[o] += subgroupShuffleXor(sum[o], distance);
    }
    if (subgroup_lane < columns) {
      sums[lane / subgroup * tile + o * columns + subgroup_lane] = sum[o];
    }
  }
  if (norm) {
    let total = subgroupAdd(square);
    if (subgroup_lane == 0u) {
      squares[lane / subgroup] = total;
    }
  }
  workgroupBarrier();
  let groups = lanes / subgroup;
  var factor = 1.0;
  if (norm) {
    var total = 0.0;
    for (var g = 0u; g < groups; g++) {
      total += squares[g];
    }
    factor = inverseSqrt(total / f32(params.k) + params.eps);
  }
  if (swiglu) {
    if (lane < tile / 2u) {
      let row = row_of(index, lane);
      if (row < params.n0) {
        let gate = product(lane, row, groups, factor);
        store(token, row, silu(gate) * product(lane + tile / 2u, row + params.n0, groups, factor));
      }
    }
  } else if (lane < tile) {
    let row = row_of(index, lane);
    store(token, row, product(lane, min(row, params.rows - 1u), groups, factor));
  }
}
