// Repacks rows of 4-bit weights into the packing q4_blocks, once, while a model loads.
//
// raw: rows of `row_bytes` bytes, two weights a byte; the earlier weight is in the low nibble, or in the high one with
//      high_first. A nibble is the weight plus 8.
// blocks: [ceil(row_bytes / 16), part_rows], a block of 32 weights of one row each, so that neighbouring invocations
//      which own neighbouring rows read neighbouring 16 bytes. Word w of a block holds weights 8w to 8w + 7: byte i has
//      weight i in its low nibble and weight 4 + i in its high one, which unpack as two vec4 (shared/q4.wgsl).
//      What lies past the end of a row is unspecified: kernels multiply it with zeros.
// One invocation a block.
// use: grid
// variant: high_first = false | true

@group(0) @binding(0) var<storage, read> raw: array<u32>;
@group(0) @binding(1) var<storage, read_write> blocks: array<vec4<u32>>;

struct Params {
  rows: u32,  // in raw; they become rows [first_row, first_row + rows) of the part
  row_bytes: u32,
  first_row: u32,
  part_rows: u32,
}
@group(1) @binding(0) var<uniform> params: Params;

// Four bytes at any offset, little-endian.
fn raw_word(offset: u32) -> u32 {
  let last = arrayLength(&raw) - 1u;
  let i = offset / 4u;
  let shift = offset % 4u * 8u;
  let low = raw[min(i, last)] >> shift;
  return select(low | (raw[min(i + 1u, last)] << (32u - shift)), low, shift == 0u);
}

// Moves nibble i of the low half to nibble 2i.
fn spread(half: u32) -> u32 {
  let bytes = (half | (half << 8u)) & 0x00ff00ffu;
  return (bytes | (bytes << 4u)) & 0x0f0f0f0fu;
}

fn packed_word(offset: u32) -> u32 {
  var word = raw_word(offset);
  if (high_first) {
    word = ((word & 0x0f0f0f0fu) << 4u) | ((word >> 4u) & 0x0f0f0f0fu);
  }
  return spread(word & 0xffffu) | (spread(word >> 16u) << 4u);
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = grid_index(workgroup, workgroups) * 64u + lane;
  let row = i % params.rows;
  let block = i / params.rows;
  if (block >= (params.row_bytes + 15u) / 16u) {
    return;
  }
  let offset = row * params.row_bytes + block * 16u;
  blocks[block * params.part_rows + params.first_row + row] =
      vec4<u32>(packed_word(offset), packed_word(offset + 4u), packed_word(offset + 8u), packed_word(offset + 12u));
}
