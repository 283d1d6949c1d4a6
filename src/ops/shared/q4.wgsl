// 4-bit weights as the packing q4_blocks holds them (linear/q4_pack.wgsl): of the eight weights in a word, byte i has
// weight i in its low nibble and weight 4 + i in its high nibble; a nibble is the weight plus 8.
fn q4_first(word: u32) -> vec4<f32> {
  return vec4<f32>(unpack4xU8(word & 0x0f0f0f0fu)) - 8.0;
}

fn q4_second(word: u32) -> vec4<f32> {
  return q4_first(word >> 4u);
}
