// Attention as attention.wgsl computes it (same operands and output), for software adapters: nothing passes
// through workgroup memory and nothing waits at a barrier.
//
// One workgroup is one subgroup of `width` invocations, at most the device's least subgroup size. It takes `rows` query
// rows of one key head, 4 * width keys at a time. For the scores each invocation owns four keys, and elements of q are
// broadcast; for the sums it owns four elements of the head (eight with `wide`), and weights are broadcast.
// use: grid, live, broadcast, attention_operands
// variant: rows = 4 | 8
// variant: width = 4 | 8
// variant: wide = false | true
// variant: masked = false | true
// variant: Kv = f32 | f16
// limits: invocations = 8

alias Element = f32;
alias KvElement = Kv;

const step_keys = 4u * width;
const tile_elements = select(4u, 8u, wide) * width;

// Where row i of q begins; rows past the last one repeat it and are not stored.
fn q_start(i: u32, kv_head: u32) -> u32 {
  let safe = min(i, params.tokens * params.group - 1u);
  return safe / params.group * params.q_token + (kv_head * params.group + safe % params.group) * params.q_head;
}

fn q_at(start: u32, d: u32) -> f32 {
  return select(0.0, q[start + min(d, params.head_size - 1u)], d < params.head_size);
}

fn k_at(start: u32, d: u32) -> f32 {
  return select(0.0, f32(k[start + min(d, params.head_size - 1u)]), d < params.head_size);
}

// Elements d to d + 3 of a key.
fn k_four(start: u32, d: u32) -> vec4<f32> {
  return vec4<f32>(k_at(start, d), k_at(start, d + 1u), k_at(start, d + 2u), k_at(start, d + 3u));
}

// Of four keys, a column a key.
fn k_columns(starts: vec4<u32>, d: u32) -> mat4x4<f32> {
  return mat4x4<f32>(k_four(starts.x, d), k_four(starts.y, d), k_four(starts.z, d), k_four(starts.w, d));
}

fn v_four(at: vec4<u32>) -> vec4<f32> {
  return vec4<f32>(vec4<Kv>(v[at.x], v[at.y], v[at.z], v[at.w]));
}

// Elements `elements` of key rows `key` to key + 3, a column an element.
fn v_columns(key: u32, kv_head: u32, elements: vec4<u32>) -> mat4x4<f32> {
  let rows = min(key + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(live_keys() - 1u)) * params.kv_token +
             kv_head * params.kv_head;
  let e = min(elements, vec4<u32>(params.head_size - 1u));
  return mat4x4<f32>(v_four(rows + e.x), v_four(rows + e.y), v_four(rows + e.z), v_four(rows + e.w));
}

fn mask_four(i: u32, kv_head: u32, keys: vec4<u32>) -> vec4<f32> {
  let safe = min(i, params.tokens * params.group - 1u);
  let head = kv_head * params.group + safe % params.group;
  let at = (head * params.tokens + safe / params.group) * live_keys() + min(keys, vec4<u32>(live_keys() - 1u));
  return vec4<f32>(mask[at.x], mask[at.y], mask[at.z], mask[at.w]);
}

// Stores those of four elements that are inside the head.
fn store_four(start: u32, elements: vec4<u32>, values: vec4<f32>) {
  if (elements.x < params.head_size) {
    output[start + elements.x] = values.x;
  }
  if (elements.y < params.head_size) {
    output[start + elements.y] = values.y;
  }
  if (elements.z < params.head_size) {
    output[start + elements.z] = values.z;
  }
  if (elements.w < params.head_size) {
    output[start + elements.w] = values.w;
  }
}

fn store_row(i: u32, kv_head: u32, split: u32, elements: vec4<u32>, sums: vec4<f32>, wide_sums: vec4<f32>,
             greatest: f32, weight: f32) {
  let token = i / params.group;
  if (token >= params.tokens) {
    return;
  }
  var start = q_start(i, kv_head);
  var divisor = select(weight, 1.0, live_keys() == 0u);
  if (params.splits > 1u) {
    let heads = params.kv_heads * params.group;
    let at = (split * params.tokens + token) * heads + kv_head * params.group + i % params.group;
    start = at * params.head_size;
    divisor = 1.0;
    if (elements.x == 0u) {
      let totals = params.splits * params.tokens * heads * params.head_size + at * 2u;
      output[totals] = greatest;
      output[totals + 1u] = weight;
    }
  }
  store_four(start, elements, sums / divisor);
  if (wide) {
    store_four(start, elements + 4u * width, wide_sums / divisor);
  }
}

// Adds the values of `width` keys from `key` on, times the first of each row's weights.
fn add_values(sums: ptr<function, array<vec4<f32>, rows>>, wide_sums: ptr<function, array<vec4<f32>, rows>>,
              weights: ptr<function, array<vec4<f32>, rows>>, key: u32, kv_head: u32, elements: vec4<u32>) {
  for (var part = 0u; part < width; part += 4u) {
    let narrow = v_columns(key + part, kv_head, elements);
    var more = mat4x4<f32>();
    if (wide) {
      more = v_columns(key + part, kv_head, elements + 4u * width);
    }
    for (var t = 0u; t < rows; t++) {
      var four = broadcast_first((*weights)[t].x);
      if (width == 8u && part == 4u) {
        four = broadcast_second((*weights)[t].x);
      }
      (*sums)[t] += four * narrow;
      if (wide) {
        (*wide_sums)[t] += four * more;
      }
    }
  }
}

@compute @workgroup_size(width)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let row_tiles = (params.tokens * params.group + rows - 1u) / rows;
  let element_tiles = (params.head_size + tile_elements - 1u) / tile_elements;
  var index = grid_index(workgroup, workgroups);
  let row = index % row_tiles * rows;
  index /= row_tiles;
  let owned = lane + vec4<u32>(0u, width, 2u * width, 3u * width);
  let elements = index % element_tiles * tile_elements + owned;
  index /= element_tiles;
  let split = index % params.splits;
  let kv_head = index / params.splits;
  if (kv_head >= params.kv_heads) {
    return;
  }

  var starts = array<u32, rows>();
  var end = 0u;
  for (var t = 0u; t < rows; t++) {
    starts[t] = q_start(row + t, kv_head);
    end = max(end, visible(row + t));
  }
  end = min(end, (split + 1u) * params.split_keys);

  var greatest = array<f32, rows>();
  var weight = array<f32, rows>();  // of the keys of this invocation
  var sums = array<vec4<f32>, rows>();
  var wide_sums = array<vec4<f32>, rows>();
  for (var t = 0u; t < rows; t++) {
    greatest[t] = lowest;
  }
  for (var start = split * params.split_keys; start < end; start += step_keys) {
    let keys = start + owned;
    let key_starts = min(keys, vec4<u32>(live_keys() - 1u)) * params.kv_token + kv_head * params.kv_head;
    var scores = array<vec4<f32>, rows>();
    for (var d = 0u; d < params.head_size; d += width) {
      let first = k_columns(key_starts, d);
      var second = mat4x4<f32>();
      if (width == 8u) {
        second = k_columns(key_starts, d + 4u);
      }
      for (var t = 0u; t < rows; t++) {
        let element = q_at(starts[t], d + lane);
        scores[t] += broadcast_first(element) * first;
        if (width == 8u) {
          scores[t] += broadcast_second(element) * second;
        }
      }
    }
    // The scores become weights. What was summed so far counts less when a greater score is found.
    for (var t = 0u; t < rows; t++) {
      var score = scores[t] * params.scale;
      if (masked) {
        score += mask_four(row + t, kv_head, keys);
      }
      let seen = keys < vec4<u32>(visible(row + t));
      score = select(vec4<f32>(lowest), score, seen);
      let here = max(max(score.x, score.y), max(score.z, score.w));
      let new_greatest = max(greatest[t], subgroupMax(here));
      let fade = exp(greatest[t] - new_greatest);
      greatest[t] = new_greatest;
      scores[t] = select(vec4<f32>(), exp(score - new_greatest), seen);
      weight[t] = weight[t] * fade + dot(scores[t], vec4<f32>(1.0));
      sums[t] *= fade;
      wide_sums[t] *= fade;
    }
    // Weights turn, so that the first is the current one: an index would make the compiler unroll this loop, which then
    // takes it seconds.
    for (var c = 0u; c < 4u; c++) {
      let key = start + c * width;
      add_values(&sums, &wide_sums, &scores, key, kv_head, elements);
      for (var t = 0u; t < rows; t++) {
        scores[t] = scores[t].yzwx;
      }
    }
  }
  for (var t = 0u; t < rows; t++) {
    store_row(row + t, kv_head, split, elements, sums[t], wide_sums[t], greatest[t], subgroupAdd(weight[t]));
  }
}
