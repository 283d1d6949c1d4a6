// Tensors of one-byte elements are arrays of 32-bit words with four elements each, the first in the lowest byte. A word
// of an output belongs to one invocation, so bytes are never written apart from their neighbours.
fn byte_of(word: u32, i: u32) -> u32 {
  return (word >> (8u * (i % 4u))) & 0xffu;
}

fn unpack_bytes(word: u32) -> vec4<u32> {
  return (vec4<u32>(word) >> vec4<u32>(0u, 8u, 16u, 24u)) & vec4<u32>(0xffu);
}

fn pack_bytes(bytes: vec4<u32>) -> u32 {
  let shifted = (bytes & vec4<u32>(0xffu)) << vec4<u32>(0u, 8u, 16u, 24u);
  return shifted.x | shifted.y | shifted.z | shifted.w;
}

fn pack_flags(flags: vec4<bool>) -> u32 {
  return pack_bytes(select(vec4<u32>(0u), vec4<u32>(1u), flags));
}
