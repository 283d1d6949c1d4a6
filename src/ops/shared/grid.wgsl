// The index of a workgroup in a grid that the host folded into three dims (fold_grid in ops/node_plan.h). The grid may
// hold more workgroups than were asked for: compare the index with the count before using it.
fn grid_index(workgroup: vec3<u32>, workgroups: vec3<u32>) -> u32 {
  return workgroup.x + workgroups.x * (workgroup.y + workgroups.y * workgroup.z);
}
