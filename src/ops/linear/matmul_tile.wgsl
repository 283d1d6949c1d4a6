// c[b, m, n] = alpha * sum_k x[b, m, k] * w[b, k, n] + beta * added[m, n], in f32.
//
// Operands: matmul_operands.wgsl.
// One workgroup computes 64 x 64 elements of c from tiles of both operands in workgroup memory.
// use: grid, matmul_operands, tile
// limits: workgroup_bytes = 16384

const lanes = 256u;

fn load_x(batch: u32, first_row: u32, first_k: u32, lane: u32) {
  for (var i = lane; i < tile_size * tile_k; i += lanes) {
    let row = first_row + i / tile_k;
    let k = first_k + i % tile_k;
    var value = 0.0;
    if (row < params.m && k < params.k) {
      value = x[(batch * params.m + row) * params.k + k];
    }
    set_tile_a(i % tile_k, i / tile_k, value);
  }
}

// Neighbouring invocations read along the dim of w that is contiguous.
fn load_w(batch: u32, first_column: u32, first_k: u32, lane: u32) {
  for (var i = lane; i < tile_size * tile_k; i += lanes) {
    let along_k = params.w_k == 1u;
    let column = select(i % tile_size, i / tile_k, along_k);
    let k = select(i / tile_size, i % tile_k, along_k);
    var value = 0.0;
    if (first_column + column < params.n && first_k + k < params.k) {
      value = w[batch * params.w_batch + (first_k + k) * params.w_k + (first_column + column) * params.w_n];
    }
    set_tile_b(k, column, value);
  }
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let row_tiles = (params.m + tile_size - 1u) / tile_size;
  let column_tiles = (params.n + tile_size - 1u) / tile_size;
  let tile = grid_index(workgroup, workgroups);
  let first_row = tile % row_tiles * tile_size;
  let first_column = tile / row_tiles % column_tiles * tile_size;
  let batch = tile / row_tiles / column_tiles;
  if (batch >= params.batches) {
    return;
  }
  var sums = mat4x4<f32>();
  for (var k = 0u; k < params.k; k += tile_k) {
    workgroupBarrier();
    load_x(batch, first_row, k, lane);
    load_w(batch, first_column, k, lane);
    workgroupBarrier();
    sums = add_tile(sums, lane);
  }
  for (var i = 0u; i < 4u; i++) {
    for (var j = 0u; j < 4u; j++) {
      store(batch, first_row + lane / 16u * 4u + i, first_column + lane % 16u * 4u + j, sums[i][j]);
    }
  }
}
