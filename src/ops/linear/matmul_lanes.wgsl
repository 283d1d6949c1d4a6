// c[b, m, n] = alpha * sum_k x[b, m, k] * w[b, k, n] + beta * added[m, n], in f32, for software adapters: each
// invocation owns four columns of c, so nothing is reduced across invocations.
//
// Operands: matmul_operands.wgsl.
// One workgroup computes 4 rows of c times 64 columns; x passes through workgroup memory.
// use: grid, matmul_operands
// limits: workgroup_bytes = 8192

const lanes = 16u;
const tokens = 4u;
const chunk = 512u;  // elements of k that are in workgroup memory at a time
var<workgroup> x_chunk: array<vec4<f32>, tokens * chunk / 4u>;

fn x_at(batch: u32, row: u32, k: u32) -> f32 {
  if (row < params.m && k < params.k) {
    return x[(batch * params.m + row) * params.k + k];
  }
  return 0.0;
}

fn load_chunk(batch: u32, first_row: u32, first_k: u32, lane: u32) {
  for (var i = lane; i < tokens * chunk / 4u; i += lanes) {
    let row = first_row + i / (chunk / 4u);
    let k = first_k + i % (chunk / 4u) * 4u;
    if (k < params.k) {
      x_chunk[i] = vec4<f32>(x_at(batch, row, k), x_at(batch, row, k + 1u), x_at(batch, row, k + 2u),
                             x_at(batch, row, k + 3u));
    }
  }
}

fn w_at(start: u32, k: u32) -> f32 {
  if (k < params.k) {
    return w[start + k * params.w_k];
  }
  return 0.0;
}

// Elements k to k + 3 of a column that starts at `start`.
fn w_four(start: u32, k: u32) -> vec4<f32> {
  return vec4<f32>(w_at(start, k), w_at(start, k + 1u), w_at(start, k + 2u), w_at(start, k + 3u));
}

fn store_columns(batch: u32, row: u32, columns: vec4<u32>, sums: vec4<f32>) {
  store(batch, row, columns.x, sums.x);
  store(batch, row, columns.y, sums.y);
  store(batch, row, columns.z, sums.z);
  store(batch, row, columns.w, sums.w);
}

@compute @workgroup_size(16)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let row_tiles = (params.m + tokens - 1u) / tokens;
  let column_tiles = (params.n + 4u * lanes - 1u) / (4u * lanes);
  let tile = grid_index(workgroup, workgroups);
  let row = tile % row_tiles * tokens;
  let columns = tile / row_tiles % column_tiles * 4u * lanes + lane + vec4<u32>(0u, lanes, 2u * lanes, 3u * lanes);
  let batch = tile / row_tiles / column_tiles;
  if (batch >= params.batches) {
    return;
  }
  let starts = batch * params.w_batch + min(columns, vec4<u32>(params.n - 1u)) * params.w_n;

  // Sums of four columns each, one for each row.
  var c0 = vec4<f32>();
  var c1 = vec4<f32>();
  var c2 = vec4<f32>();
  var c3 = vec4<f32>();
  for (var first = 0u; first < params.k; first += chunk) {
    workgroupBarrier();
    load_chunk(batch, row, first, lane);
    workgroupBarrier();
    for (var i = 0u; i < chunk / 4u && first + i * 4u < params.k; i++) {
      let k = first + i * 4u;
      let weights = mat4x4<f32>(w_four(starts.x, k), w_four(starts.y, k), w_four(starts.z, k), w_four(starts.w, k));
      c0 += x_chunk[i] * weights;
      c1 += x_chunk[i + chunk / 4u] * weights;
      c2 += x_chunk[i + chunk / 2u] * weights;
      c3 += x_chunk[i + chunk * 3u / 4u] * weights;
    }
  }
  store_columns(batch, row, columns, c0);
  store_columns(batch, row + 1u, columns, c1);
  store_columns(batch, row + 2u, columns, c2);
  store_columns(batch, row + 3u, columns, c3);
}
