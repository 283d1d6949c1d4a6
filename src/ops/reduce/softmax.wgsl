// y = softmax or log_softmax of x [outer, length, inner] over its middle dim.
//
// A line is the `length` elements, `inner` apart, that one softmax spans. With lanes = 1 an invocation works on a line
// alone, without barriers; with lanes = 64 a workgroup shares a line. Three passes: largest element, sum of exponentials
// less it, results.
// use: grid
// limits: workgroup_bytes = 256
// variant: logarithm = false | true
// variant: lanes = 1 | 64

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

struct Params {
  lines: u32,
  length: u32,  // at least 1
  inner: u32,
}
@group(1) @binding(0) var<uniform> params: Params;

var<workgroup> parts: array<f32, 64>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let group = grid_index(workgroup, workgroups);
  if (lanes == 1) {
    let line = group * 64u + lane;
    if (line < params.lines) {
      let start = line_start(line);
      let largest = largest_of(start, 0u, 1u);
      write(start, 0u, 1u, largest, sum_of(start, 0u, 1u, largest));
    }
  } else {
    // Workgroups past the last line work on it too, with equal results: barriers must be reached by all.
    let start = line_start(min(group, params.lines - 1u));
    parts[lane] = largest_of(start, lane, 64u);
    workgroupBarrier();
    for (var half = 32u; half > 0u; half /= 2u) {
      if (lane < half) {
        parts[lane] = max(parts[lane], parts[lane + half]);
      }
      workgroupBarrier();
    }
    let largest = parts[0];
    workgroupBarrier();
    parts[lane] = sum_of(start, lane, 64u, largest);
    workgroupBarrier();
    for (var half = 32u; half > 0u; half /= 2u) {
      if (lane < half) {
        parts[lane] += parts[lane + half];
      }
      workgroupBarrier();
    }
    write(start, lane, 64u, largest, parts[0]);
  }
}

fn line_start(line: u32) -> u32 {
  return line / params.inner * params.length * params.inner + line % params.inner;
}

fn largest_of(start: u32, first: u32, step: u32) -> f32 {
  var largest = x[start];
  for (var k = first; k < params.length; k += step) {
    largest = max(largest, x[start + k * params.inner]);
  }
  return largest;
}

fn sum_of(start: u32, first: u32, step: u32, largest: f32) -> f32 {
  var sum = 0.0;
  for (var k = first; k < params.length; k += step) {
    sum += exponential(x[start + k * params.inner] - largest);
  }
  return sum;
}

fn write(start: u32, first: u32, step: u32, largest: f32, sum: f32) {
  for (var k = first; k < params.length; k += step) {
    let at = start + k * params.inner;
    if (logarithm) {
      y[at] = x[at] - largest - log(sum);
    } else {
      y[at] = exponential(x[at] - largest) / sum;
    }
  }
}

// NaN stays NaN: SwiftShader's exp gives 0 for it.
fn exponential(x: f32) -> f32 {
  return select(exp(x), x, !(x == x));
}
