// The pairs of elements that a rotary embedding turns. The kernel declares `halves`, cos_table, sin_table, and in Params
// head_size, rotary, angles, steps, first_position and position_entry: see rotate_heads.wgsl. It also uses live.wgsl.

struct Pair {
  first: u32,  // offsets of both elements
  second: u32,
  first_angle: u32,  // offsets in the tables
  second_angle: u32,
  turns: bool,
}

fn pair_at(i: u32, heads: u32) -> Pair {
  let pair = i % (params.head_size / 2u);
  let head = i / (params.head_size / 2u);
  let start = head * params.head_size;
  let angles = ((params.first_position + live(params.position_entry)) + head / heads % params.steps) * params.angles;
  if (pair >= params.rotary / 2u || !halves) {
    let turns = pair < params.rotary / 2u;
    let angle = select(0u, angles + pair, turns);
    return Pair(start + 2u * pair, start + 2u * pair + 1u, angle, angle, turns);
  }
  let half = params.rotary / 2u;
  return Pair(start + pair, start + pair + half, angles + pair, angles + pair + half, true);
}

fn rotated(pair: Pair, a: f32, b: f32) -> vec2<f32> {
  if (!pair.turns) {
    return vec2<f32>(a, b);
  }
  return vec2<f32>(a * cos_table[pair.first_angle] - b * sin_table[pair.first_angle],
                   b * cos_table[pair.second_angle] + a * sin_table[pair.second_angle]);
}
