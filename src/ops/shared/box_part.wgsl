// The offset of element `i` of a part of a box: its dims [first, last), as (size, stride, unused, unused). The kernel's
// Params hold `dims`; the part may be empty.
fn box_offset(i: u32, first: u32, last: u32) -> u32 {
  var rest = i;
  var offset = 0u;
  for (var d = last; d > first; d--) {
    let dim = params.dims[d - 1u];
    offset += (rest % dim.x) * dim.y;
    rest /= dim.x;
  }
  return offset;
}
