// SymInts that a plan does not hold itself, so that it stays as it is while they change (record/record.h). Entry 0 is 0.
@group(1) @binding(1) var<uniform> live_integers: array<vec4<u32>, 64>;

fn live(entry: u32) -> u32 {
  return live_integers[entry / 4u][entry % 4u];
}
