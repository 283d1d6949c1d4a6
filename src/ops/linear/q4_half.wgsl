// As q4_first (q4.wgsl), in f16: a nibble is placed in the mantissa of 1024, so 1032 less is the weight exactly.
fn q4_first_half(word: u32) -> vec4<f16> {
  let even = bitcast<vec2<f16>>((word & 0x000f000fu) | 0x64006400u) - 1032.0h;
  let odd = bitcast<vec2<f16>>(((word >> 8u) & 0x000f000fu) | 0x64006400u) - 1032.0h;
  return vec4<f16>(even.x, odd.x, even.y, odd.y);
}
