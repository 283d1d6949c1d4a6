// Scales of 4-bit weights, [groups, scale_rows]: one for each row and `group_size` elements of k. A kernel that uses
// this declares `scales`, the parameters and the constant whole_blocks: group_size is a multiple of 32, so that a block
// of the weights has one scale. `row` counts from the first row of the dispatch.
fn scale_at(k: u32, row: u32) -> f32 {
  return scales[min(k / params.group_size, params.groups - 1u) * params.scale_rows + params.scale_row + row];
}

// Of a whole block; 1 where each weight has been scaled by scale_four.
fn block_scale(k: u32, row: u32) -> f32 {
  if (whole_blocks) {
    return scale_at(k, row);
  }
  return 1.0;
}

// Weights k to k + 3, scaled unless their block is scaled as a whole.
fn scale_four(weights: vec4<f32>, k: u32, row: u32) -> vec4<f32> {
  if (whole_blocks) {
    return weights;
  }
  return weights * vec4<f32>(scale_at(k, row), scale_at(k + 1u, row), scale_at(k + 2u, row), scale_at(k + 3u, row));
}
