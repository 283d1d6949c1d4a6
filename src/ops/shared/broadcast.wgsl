// Values of four invocations of a subgroup, for all of its invocations. On lavapipe a load inside a loop costs one
// scalar load an invocation, even where all read one address; loading different elements and broadcasting them costs a
// fifth.
enable subgroups;

// Of invocations 0 to 3.
fn broadcast_first(v: f32) -> vec4<f32> {
  return vec4<f32>(subgroupBroadcast(v, 0u), subgroupBroadcast(v, 1u), subgroupBroadcast(v, 2u),
                   subgroupBroadcast(v, 3u));
}

// Of invocations 4 to 7, where subgroups are that large.
fn broadcast_second(v: f32) -> vec4<f32> {
  return vec4<f32>(subgroupBroadcast(v, 4u), subgroupBroadcast(v, 5u), subgroupBroadcast(v, 6u),
                   subgroupBroadcast(v, 7u));
}
