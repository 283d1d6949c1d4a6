// Where element `i` of a box of elements lies in each of up to three operands. The kernel's Params hold the box: `rank`
// dims, outermost first, each as (size, stride, stride, stride) in elements. The host makes it (ops/shared/strides.h) and
// merges dims, so that most boxes have one or two; a stride that goes backwards is a wrapped u32.
fn box_offsets(i: u32) -> vec3<u32> {
  var rest = i;
  var offsets = vec3<u32>();
  for (var d = params.rank - 1u; d > 0u; d--) {
    let dim = params.dims[d];
    offsets += (rest % dim.x) * dim.yzw;
    rest /= dim.x;
  }
  return offsets + rest * params.dims[0].yzw;
}
