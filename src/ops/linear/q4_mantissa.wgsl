// Products with 4-bit weights as linear/q4_pack.wgsl lays them out, by few instructions: a nibble stays where it is in
// the mantissa of 2^23, which makes it 16^p times its value after a subtraction, and the factor is taken out once a
// block. A kernel that uses this declares x_chunk, elements of x in workgroup memory, four each.
fn nibble(word: u32, p: u32) -> f32 {
  return bitcast<f32>((word & (15u << (4u * p))) | 0x4b000000u) - (8388608.0 + f32(8u << (4u * p)));
}

// Sums of products at each nibble's place: 16^0 to 16^3 in `low`, 16^4 in `high`.
struct PlaceSums {
  low: vec4<f32>,
  high: f32,
}

// Adds eight weights times x_chunk[i] and x_chunk[i + 1]. The mantissa has room for five nibbles, so the others move.
fn add_word(sums: PlaceSums, word: u32, i: u32) -> PlaceSums {
  let first = x_chunk[i];
  let second = x_chunk[i + 1u];
  let moved = word >> 20u;
  let low = vec4<f32>(nibble(word, 0u), nibble(word, 1u), nibble(word, 2u), nibble(word, 3u)) *
            vec4<f32>(first.x, second.x, first.y, second.y);
  let rest = vec4<f32>(nibble(moved, 0u) * second.z, nibble(moved, 1u) * first.w, nibble(moved, 2u) * second.w, 0.0);
  return PlaceSums(sums.low + low + rest, sums.high + nibble(word, 4u) * first.z);
}

// A block of 32 weights times the elements of x from x_chunk[i] on.
fn block_product(words: vec4<u32>, i: u32) -> f32 {
  var sums = PlaceSums();
  sums = add_word(sums, words.x, i);
  sums = add_word(sums, words.y, i + 2u);
  sums = add_word(sums, words.z, i + 4u);
  sums = add_word(sums, words.w, i + 6u);
  return dot(sums.low, vec4<f32>(1.0, 1.0 / 16.0, 1.0 / 256.0, 1.0 / 4096.0)) + sums.high / 65536.0;
}
