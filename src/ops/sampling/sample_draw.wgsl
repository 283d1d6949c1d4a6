// Draws a token: the first one, in the order of ids, at which the kept weights add up to more than total * draw / 2^32.
// It goes to ring[slot] and to tokens[0]; when no logit is a number, -1 to the ring and token 0.
//
// ranked: entries[512 * c + j] = (weight, id), j < counts[c], are gathered (sample_gather.wgsl), and top_k and top_p keep
// those above a weight and the first `ties` of those equal to it, which a search for the weight's 8 hex digits finds.
// Else: every weight counts; entries are the weights themselves and counts the sums of the chunks (sample_weights.wgsl).
// One workgroup; a lane has `per_lane` chunks in a row.
// use: logit_rank, wide
// limits: workgroup_bytes = 4320

@group(0) @binding(0) var<storage, read> entries: array<u32>;
@group(0) @binding(1) var<storage, read> counts: array<u32>;
@group(0) @binding(2) var<storage, read> histogram: array<u32>;
@group(0) @binding(3) var<storage, read_write> ring: array<i32>;
@group(0) @binding(4) var<storage, read_write> tokens: array<i32>;

struct Params {
  count: u32,
  chunks: u32,
  per_lane: u32,
  top_k: u32,  // 0: all
  top_p: u32,  // in units of 2^-32; 0: all
  draw: u32,
  slot: u32,
  ranked: u32,  // 1 or 0
}
@group(1) @binding(0) var<uniform> params: Params;

// Weights above the cut, and how many equal it.
struct Mass {
  above: vec2<u32>,
  ties: u32,
}
struct Cut {
  weight: u32,
  ties: u32,            // kept; of `equal`
  equal: u32,
  above_count: u32,
  above: vec2<u32>,
}

var<workgroup> masses: array<Mass, 256>;
var<workgroup> bins: array<atomic<u32>, 48>;
var<workgroup> chosen_chunk: u32;
var<workgroup> chosen_id: i32;
var<workgroup> chosen_before: Mass;

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) lane: u32) {
  if (lane == 0u) {
    chosen_id = -1;
    chosen_chunk = 0xffffffffu;
  }
  var cut = Cut(0u, 0u, 0u, 0u, vec2<u32>(0u));
  if (params.ranked != 0u) {
    cut = find_cut(lane);
  }

  let first = lane * params.per_lane;
  let last = min(first + params.per_lane, params.chunks);
  var mine = Mass(vec2<u32>(0u), 0u);
  for (var chunk = first; chunk < last; chunk++) {
    mine = join(mine, mass_of_chunk(chunk, cut.weight));
  }
  var before = scan(mine, lane);
  let total = kept(masses[255], cut);
  let goal = wide_scale(total, params.draw);
  if (is_between(goal, before, mine, cut)) {
    for (var chunk = first; chunk < last; chunk++) {
      let mass = mass_of_chunk(chunk, cut.weight);
      if (is_between(goal, before, mass, cut)) {
        chosen_chunk = chunk;
        chosen_before = before;
      }
      before = join(before, mass);
    }
  }
  workgroupBarrier();

  // Two entries a lane.
  let chunk = chosen_chunk;
  let begin = 2u * lane;
  var end = begin;
  if (chunk != 0xffffffffu) {
    end = min(begin + 2u, entry_count(chunk));
  }
  mine = Mass(vec2<u32>(0u), 0u);
  for (var j = begin; j < end; j++) {
    mine = join(mine, mass_of(entry(chunk, j).x, cut.weight));
  }
  before = join(chosen_before, scan(mine, lane));
  for (var j = begin; j < end; j++) {
    let item = entry(chunk, j);
    let mass = mass_of(item.x, cut.weight);
    if (is_between(goal, before, mass, cut)) {
      chosen_id = i32(item.y);
    }
    before = join(before, mass);
  }
  workgroupBarrier();
  if (lane == 0u && params.count > 0u) {
    ring[params.slot] = chosen_id;
    tokens[0] = max(chosen_id, 0);
  }
}

fn entry_count(chunk: u32) -> u32 {
  if (params.ranked != 0u) {
    return counts[chunk];
  }
  return min(params.count - chunk * kLogitChunk, kLogitChunk);
}

fn entry(chunk: u32, j: u32) -> vec2<u32> {
  let at = chunk * kLogitChunk + j;
  if (params.ranked != 0u) {
    return vec2<u32>(entries[2u * at], entries[2u * at + 1u]);
  }
  return vec2<u32>(entries[at], at);
}

fn mass_of(weight: u32, cut: u32) -> Mass {
  return Mass(vec2<u32>(select(0u, weight, weight > cut), 0u), select(0u, 1u, weight == cut));
}

fn mass_of_chunk(chunk: u32, cut: u32) -> Mass {
  if (params.ranked == 0u) {
    return Mass(vec2<u32>(counts[2u * chunk], counts[2u * chunk + 1u]), 0u);
  }
  var mass = Mass(vec2<u32>(0u), 0u);
  for (var j = 0u; j < entry_count(chunk); j++) {
    mass = join(mass, mass_of(entry(chunk, j).x, cut));
  }
  return mass;
}

fn join(a: Mass, b: Mass) -> Mass {
  return Mass(wide_add(a.above, b.above), a.ties + b.ties);
}

// The weight that is kept of a mass at the beginning of the order: of equals, the first ones count.
fn kept(mass: Mass, cut: Cut) -> vec2<u32> {
  return wide_add(mass.above, wide_product(min(mass.ties, cut.ties), cut.weight));
}

fn is_between(goal: vec2<u32>, before: Mass, mass: Mass, cut: Cut) -> bool {
  return !wide_less(goal, kept(before, cut)) && wide_less(goal, kept(join(before, mass), cut));
}

// The mass of the lanes before this one; masses[255] is then that of all.
fn scan(mine: Mass, lane: u32) -> Mass {
  workgroupBarrier();  // earlier ones have been read
  masses[lane] = mine;
  workgroupBarrier();
  for (var step = 1u; step < 256u; step *= 2u) {
    var sum = masses[lane];
    if (lane >= step) {
      sum = join(masses[lane - step], sum);
    }
    workgroupBarrier();
    masses[lane] = sum;
    workgroupBarrier();
  }
  if (lane == 0u) {
    return Mass(vec2<u32>(0u), 0u);
  }
  return masses[lane - 1u];
}

fn find_cut(lane: u32) -> Cut {
  var total = vec2<u32>(0u);
  var count = 0u;
  for (var bin = 0u; bin < 31u; bin++) {
    total = wide_add(total, vec2<u32>(histogram[32u + bin], histogram[64u + bin]));
    count += histogram[bin];
  }
  var cut = Cut(0u, 0u, 0u, 0u, vec2<u32>(0u));
  if (params.top_k > 0u) {
    cut = search(lane, true, min(params.top_k, count), vec2<u32>(0u));
    cut.ties = min(params.top_k, count) - cut.above_count;
    total = wide_add(cut.above, wide_product(cut.ties, cut.weight));
  }
  if (params.top_p > 0u) {
    var wanted = wide_scale(total, params.top_p);
    if (wanted.x == 0u && wanted.y == 0u) {
      wanted.x = 1u;
    }
    cut = search(lane, false, 0u, wanted);
    // The fewest equals that bring the sum to what is wanted.
    var low = 1u;
    var high = cut.equal;
    while (low < high) {
      let middle = (low + high) / 2u;
      if (wide_less(wide_add(cut.above, wide_product(middle, cut.weight)), wanted)) {
        low = middle + 1u;
      } else {
        high = middle;
      }
    }
    cut.ties = low;
  }
  return cut;
}

// The largest weight w for which the weights >= w are `wanted_count`, or add up to `wanted_sum`, at least.
fn search(lane: u32, by_count: bool, wanted_count: u32, wanted_sum: vec2<u32>) -> Cut {
  var cut = Cut(0u, 0u, 0u, 0u, vec2<u32>(0u));
  for (var digit = 0u; digit < 8u; digit++) {
    let shift = 28u - 4u * digit;
    workgroupBarrier();
    if (lane < 48u) {
      atomicStore(&bins[lane], 0u);
    }
    workgroupBarrier();
    count_digits(lane, shift, cut.weight);
    workgroupBarrier();
    for (var i = 0u; i < 16u; i++) {
      let bin = 15u - i;
      let count = atomicLoad(&bins[bin]);
      let sum = vec2<u32>(atomicLoad(&bins[16u + bin]), atomicLoad(&bins[32u + bin]));
      let with_bin = wide_add(cut.above, sum);
      if (count > 0u && select(!wide_less(with_bin, wanted_sum), cut.above_count + count >= wanted_count, by_count)) {
        cut.weight |= bin << shift;
        cut.equal = count;
        break;
      }
      cut.above_count += count;
      cut.above = with_bin;
    }
  }
  return cut;
}

// Bins the next digit of the weights whose digits so far are `prefix`.
fn count_digits(lane: u32, shift: u32, prefix: u32) {
  let mask = ~((16u << shift) - 1u);  // at the first digit 16 << 28 is 0, and the mask too
  let first = lane * params.per_lane;
  for (var chunk = first; chunk < min(first + params.per_lane, params.chunks); chunk++) {
    for (var j = 0u; j < entry_count(chunk); j++) {
      let weight = entry(chunk, j).x;
      if ((weight & mask) != prefix) {
        continue;
      }
      let bin = (weight >> shift) & 15u;
      atomicAdd(&bins[bin], 1u);
      let before = atomicAdd(&bins[16u + bin], weight);
      if (before + weight < before) {
        atomicAdd(&bins[32u + bin], 1u);
      }
    }
  }
}
