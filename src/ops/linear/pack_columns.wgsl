// Places some columns of a stored f32 matrix, at most all of them, into the packing `columns`, once, while a model loads.
// What is stored as columns are the packing's rows: of scales, those of the 4-bit rows that they belong to.
//
// raw: [groups, stored_rows] in f32, of groups first_group, first_group + 1, ...; columns: [all groups, part_rows].
// Rows [first_row, first_row + rows) of raw become rows to_row, to_row + 1, ... of columns. One invocation an element.
// use: grid

@group(0) @binding(0) var<storage, read> raw: array<f32>;
@group(0) @binding(1) var<storage, read_write> columns: array<f32>;

struct Params {
  groups: u32,
  stored_rows: u32,
  first_group: u32,
  part_rows: u32,
  first_row: u32,
  rows: u32,
  to_row: u32,
}
@group(1) @binding(0) var<uniform> params: Params;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>,
        @builtin(local_invocation_index) lane: u32) {
  let i = grid_index(workgroup, workgroups) * 64u + lane;
  let row = i % params.rows;
  let group = i / params.rows;
  if (group < params.groups) {
    columns[(params.first_group + group) * params.part_rows + params.to_row + row] =
        raw[group * params.stored_rows + params.first_row + row];
  }
}
