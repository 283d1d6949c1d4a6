// Copies a box of one-byte elements into a region of a row-major tensor.
//
// Both tensors are words of four bytes. The box holds (size, from stride, to stride); its to strides fall from dim to dim
// as in any row-major tensor, so that the place of an output byte gives its coordinates in the box. Each invocation owns
// one output word, and keeps those of its bytes that lie outside the box.
// use: grid, bytes

@group(0) @binding(0) var<storage, read> from_words: array<u32>;
@group(0) @binding(1) var<storage, read_write> to_words: array<u32>;

struct Params {
  first_word: u32,  // of the output words that the box touches
  words: u32,
  rank: u32,
  from_offset: u32,
  to_offset: u32,
  dims: array<vec4<u32>, 14>,
}
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = grid_index(workgroup, workgroups) * 256u + lane;
  if (i >= params.words) {
    return;
  }
  let word = params.first_word + i;
  var bytes = unpack_bytes(to_words[word]);
  for (var k = 0u; k < 4u; k++) {
    bytes[k] = copied(4u * word + k, bytes[k]);
  }
  to_words[word] = pack_bytes(bytes);
}

// The byte that the box puts at output byte `at`, or `old`.
fn copied(at: u32, old: u32) -> u32 {
  if (at < params.to_offset) {
    return old;
  }
  var rest = at - params.to_offset;
  var from_byte = params.from_offset;
  for (var d = 0u; d < params.rank; d++) {
    let dim = params.dims[d];
    let coordinate = rest / dim.z;
    if (coordinate >= dim.x) {
      return old;
    }
    from_byte += coordinate * dim.y;
    rest -= coordinate * dim.z;
  }
  return select(old, byte_of(from_words[from_byte / 4u], from_byte), rest == 0u);
}
