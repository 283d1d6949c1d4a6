// y = x [planes, in_h, in_w] resized to [planes, out_h, out_w], by the nearest pixel or between four pixels.
//
// A pixel of y lies at scale * (position + shift) - shift in x: shift 0.5 takes pixels as areas, 0 as points at their
// corners (align_corners). The nearest pixel is floor(scale * position). Each invocation makes one pixel.
// use: grid
// variant: bilinear = false | true

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

struct Params {
  count: u32,  // pixels of y
  in_h: u32,
  in_w: u32,
  out_h: u32,
  out_w: u32,
  scale_h: f32,
  scale_w: f32,
  shift: f32,
}
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = grid_index(workgroup, workgroups) * 256u + lane;
  if (i >= params.count) {
    return;
  }
  let column = i % params.out_w;
  let row = i / params.out_w % params.out_h;
  let plane = i / params.out_w / params.out_h * params.in_h * params.in_w;
  if (bilinear) {
    let h = max((f32(row) + params.shift) * params.scale_h - params.shift, 0.0);
    let w = max((f32(column) + params.shift) * params.scale_w - params.shift, 0.0);
    let top = mix(pixel(plane, h, w), pixel(plane, h, w + 1.0), fract(w));
    let bottom = mix(pixel(plane, h + 1.0, w), pixel(plane, h + 1.0, w + 1.0), fract(w));
    y[i] = mix(top, bottom, fract(h));
  } else {
    y[i] = pixel(plane, f32(row) * params.scale_h, f32(column) * params.scale_w);
  }
}

// The pixel at or left and above of a place; the last ones repeat.
fn pixel(plane: u32, h: f32, w: f32) -> f32 {
  return x[plane + min(u32(h), params.in_h - 1u) * params.in_w + min(u32(w), params.in_w - 1u)];
}
