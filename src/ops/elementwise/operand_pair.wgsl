// Four neighbouring elements of each operand of a two-operand kernel, as the choice `form` says. The kernel declares a
// and b as arrays of vec4<Elem>, the choices Elem and form, and in Params count, scalar_bits, rank and dims.
struct Pair {
  a: vec4<Elem>,
  b: vec4<Elem>,
}

fn load_pair(i: u32) -> Pair {
  let scalar = vec4<Elem>(bitcast<Elem>(params.scalar_bits));
  if (form == form_dense) {
    return Pair(a[i], b[i]);
  }
  if (form == form_scalar_right) {
    return Pair(a[i], scalar);
  }
  if (form == form_scalar_left) {
    return Pair(scalar, b[i]);
  }
  var pair: Pair;
  for (var k = 0u; k < 4u; k++) {
    let at = box_offsets(min(4u * i + k, params.count - 1u));
    pair.a[k] = a[at.x / 4u][at.x % 4u];
    pair.b[k] = b[at.y / 4u][at.y % 4u];
  }
  return pair;
}
