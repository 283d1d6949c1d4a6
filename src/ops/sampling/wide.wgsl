// Whole numbers of 64 bits as (low, high) words, for sums that must not depend on the order of their terms.
fn wide_add(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = a.x + b.x;
  return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn wide_less(a: vec2<u32>, b: vec2<u32>) -> bool {
  return a.y < b.y || (a.y == b.y && a.x < b.x);
}

fn wide_product(a: u32, b: u32) -> vec2<u32> {
  let low = (a & 0xffffu) * (b & 0xffffu);
  let cross = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
  let other = (a & 0xffffu) * (b >> 16u) + (cross & 0xffffu);
  return vec2<u32>((low & 0xffffu) | (other << 16u), (a >> 16u) * (b >> 16u) + (cross >> 16u) + (other >> 16u));
}

// a * fraction / 2^32, rounded down; a is below 2^63.
fn wide_scale(a: vec2<u32>, fraction: u32) -> vec2<u32> {
  return wide_add(wide_product(a.y, fraction), vec2<u32>(wide_product(a.x, fraction).y, 0u));
}
