// Operands of attention kernels, as attention.wgsl describes them, and what a row of the queries sees. The kernel declares
// the variant Kv, what k and v are made of, the aliases Element and KvElement, in which it reads q and them, and uses
// live.wgsl.
@group(0) @binding(0) var<storage, read> q: array<Element>;
@group(0) @binding(1) var<storage, read> k: array<KvElement>;
@group(0) @binding(2) var<storage, read> v: array<KvElement>;
@group(0) @binding(3) var<storage, read> mask: array<f32>;
@group(0) @binding(4) var<storage, read_write> output: array<f32>;

struct Params {
  tokens: u32,
  keys: u32,  // to which live(position_entry) is added: first_position + tokens when causal
  causal: u32,
  first_position: u32,  // the same
  position_entry: u32,  // 0 unless a SymInt says the position
  kv_heads: u32,
  group: u32,
  head_size: u32,
  q_token: u32,
  q_head: u32,
  kv_token: u32,
  kv_head: u32,
  scale: f32,
  splits: u32,
  split_keys: u32,  // keys of a split, whole tiles
}
@group(1) @binding(0) var<uniform> params: Params;

fn live_position() -> u32 {
  return params.first_position + live(params.position_entry);
}

fn live_keys() -> u32 {
  return params.keys + live(params.position_entry);
}

const lowest = -3.0e38;  // below every score, and finite: differences of it are never NaN

// Keys that row i sees: none past the last row.
fn visible(i: u32) -> u32 {
  let token = i / params.group;
  return select(0u, select(live_keys(), live_position() + token + 1u, params.causal != 0u), token < params.tokens);
}
