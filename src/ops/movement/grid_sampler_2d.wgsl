// y[n, c, h, w] = x[n, c] at the place grid[n, h, w] = (across, down), each from -1 to 1.
//
// x: [batch, channels, in_h, in_w]; grid: [batch, out_h, out_w, 2]; y: [batch, channels, out_h, out_w]. With
// align_corners -1 and 1 are the centres of the outer pixels, else their outer edges. Outside, `border` repeats the edge
// and otherwise pixels are 0. Each invocation makes one pixel.
// use: grid
// variant: bilinear = false | true
// variant: border = false | true

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> grid: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

struct Params {
  count: u32,       // elements of y
  channels: u32,
  in_h: u32,
  in_w: u32,
  out_pixels: u32,  // out_h * out_w
  align_corners: u32,
}
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = grid_index(workgroup, workgroups) * 256u + lane;
  if (i >= params.count) {
    return;
  }
  let plane = i / params.out_pixels;
  let at = 2u * (plane / params.channels * params.out_pixels + i % params.out_pixels);
  let w = place(grid[at], params.in_w);
  let h = place(grid[at + 1u], params.in_h);
  if (bilinear) {
    let left = floor(w);
    let up = floor(h);
    let top = mix(pixel(plane, up, left), pixel(plane, up, left + 1.0), w - left);
    let bottom = mix(pixel(plane, up + 1.0, left), pixel(plane, up + 1.0, left + 1.0), w - left);
    y[i] = mix(top, bottom, h - up);
  } else {
    y[i] = pixel(plane, round(h), round(w));
  }
}

// A coordinate of the grid in pixels.
fn place(coordinate: f32, size: u32) -> f32 {
  let last = f32(size) - 1.0;
  var pixels = (coordinate + 1.0) * 0.5 * f32(size) - 0.5;
  if (params.align_corners != 0u) {
    pixels = (coordinate + 1.0) * 0.5 * last;
  }
  if (border) {
    return clamp(pixels, 0.0, last);
  }
  return pixels;
}

fn pixel(plane: u32, h: f32, w: f32) -> f32 {
  let last_h = f32(params.in_h) - 1.0;
  let last_w = f32(params.in_w) - 1.0;
  let inside = h >= 0.0 && h <= last_h && w >= 0.0 && w <= last_w;
  let at = (plane * params.in_h + u32(clamp(h, 0.0, last_h))) * params.in_w + u32(clamp(w, 0.0, last_w));
  return select(0.0, x[at], inside);
}
