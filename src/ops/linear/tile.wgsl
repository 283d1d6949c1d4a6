// A tile of 64 x 64 sums that 256 invocations make of 32 elements of k at a time, four rows times four columns each: a
// vec4 of each operand, read from workgroup memory, gives 16 products.
const tile_size = 64u;
const tile_k = 32u;
var<workgroup> tile_a: array<vec4<f32>, 512>;  // [k][rows / 4]
var<workgroup> tile_b: array<vec4<f32>, 512>;  // [k][columns / 4]

fn set_tile_a(k: u32, row: u32, value: f32) {
  tile_a[k * 16u + row / 4u][row % 4u] = value;
}

fn set_tile_b(k: u32, column: u32, value: f32) {
  tile_b[k * 16u + column / 4u][column % 4u] = value;
}

// Adds the products of the tiles to the sums of an invocation, a column of the matrix for each row of the tile.
fn add_tile(sums: mat4x4<f32>, lane: u32) -> mat4x4<f32> {
  var result = sums;
  for (var k = 0u; k < tile_k; k++) {
    let a = tile_a[k * 16u + lane / 16u];
    let b = tile_b[k * 16u + lane % 16u];
    result += mat4x4<f32>(a.x * b, a.y * b, a.z * b, a.w * b);
  }
  return result;
}
