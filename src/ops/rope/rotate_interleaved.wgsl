// Each pair (x[2i], x[2i + 1]) of a row turns by the angle whose cosine and sine are (freqs[2i], freqs[2i + 1]).
//
// x, y: [batches * rows, width]; freqs: [rows, width], the same for every batch.
// One invocation a pair.
// use: grid

@group(0) @binding(0) var<storage, read> x: array<vec2<f32>>;
@group(0) @binding(1) var<storage, read> freqs: array<vec2<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<vec2<f32>>;

struct Params {
  pairs: u32,
  freq_pairs: u32,
}
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = grid_index(workgroup, workgroups) * 64u + lane;
  if (i >= params.pairs) {
    return;
  }
  let v = x[i];
  let turn = freqs[i % params.freq_pairs];
  y[i] = vec2<f32>(v.x * turn.x - v.y * turn.y, v.x * turn.y + v.y * turn.x);
}
