// y = x in another element type: f32 to integers truncates, to bool asks for non-zero; integers to bytes wrap.
//
// x, y: elements of 4 bytes, a word each, or of 1 byte, four to a word. Each invocation converts four elements.
// use: grid, bytes
// variant: have = f32 | i32 | u8 | i8 | boolean
// variant: want = f32 | i32 | u8 | i8 | boolean

@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;

struct Params {
  count: u32,  // elements
}
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = grid_index(workgroup, workgroups) * 256u + lane;
  if (4u * i >= params.count) {
    return;
  }
  var words: vec4<u32>;
  if (have == have_f32 || have == have_i32) {
    words = vec4<u32>(x[4u * i], x[4u * i + 1u], x[4u * i + 2u], x[4u * i + 3u]);
  } else {
    words = unpack_bytes(x[i]);
  }
  let results = convert(words);
  if (want == want_f32 || want == want_i32) {
    for (var k = 0u; k < 4u; k++) {
      y[4u * i + k] = results[k];
    }
  } else {
    y[i] = pack_bytes(results);
  }
}

fn convert(words: vec4<u32>) -> vec4<u32> {
  var real: vec4<f32>;
  var whole: vec4<i32>;
  if (have == have_f32) {
    real = bitcast<vec4<f32>>(words);
    whole = vec4<i32>(real);
  } else {
    whole = bitcast<vec4<i32>>(words);
    if (have == have_i8) {
      whole = extractBits(whole, 0u, 8u);  // of a signed value: extends the sign
    }
    real = vec4<f32>(whole);
  }
  if (want == want_f32) {
    return bitcast<vec4<u32>>(real);
  }
  if (want == want_boolean) {
    let nonzero = select(whole != vec4<i32>(0), !(real == vec4<f32>(0.0)), have == have_f32);  // NaN is not zero
    return select(vec4<u32>(0u), vec4<u32>(1u), nonzero);
  }
  return bitcast<vec4<u32>>(whole);
}
