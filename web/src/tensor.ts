// Host tensors: row-major typed arrays.

import { Core } from './core.js';
import { SconceError } from './error.js';
import { TensorEntryAt } from './layout.js';

// In the order of sconce::Dtype. An f16 is its bits; a bool is a byte of 0 or 1.
const ARRAYS = {
  f32: Float32Array, f16: Uint16Array, f64: Float64Array, i64: BigInt64Array,
  i32: Int32Array, u8: Uint8Array, i8: Int8Array, bool: Uint8Array,
} as const;
/** `f32`, `f16`, `f64`, `i64`, `i32`, `u8`, `i8` or `bool`. */
export type Dtype = keyof typeof ARRAYS;
const DTYPES = Object.keys(ARRAYS) as Dtype[];
/**
 * The elements of a tensor, the last dim fastest: a BigInt64Array for i64, the bits in a Uint16Array for f16, bytes of 0
 * or 1 in a Uint8Array for bool, else the array of that name.
 */
export type TensorData = InstanceType<(typeof ARRAYS)[Dtype]>;

/** A host tensor, row-major and without gaps. */
export interface Tensor {
  dtype: Dtype;
  /** At most 8 dims; `[]` is one element. */
  shape: number[];
  /** As many elements as the dims' product. */
  data: TensorData;
}

/**
 * A tensor of numbers: `tensor('f32', [2, 3], [1, 2, 3, 4, 5, 6])`. The data are copied and converted to the dtype;
 * for f16 they are bits. How many there are is checked by the run.
 */
export function tensor(dtype: Dtype, shape: number[], data: ArrayLike<number> | ArrayLike<bigint>): Tensor {
  const Kind = ARRAYS[dtype] as unknown as { from(values: Iterable<unknown>): TensorData };
  const convert = dtype === 'i64' ? BigInt : Number;
  return { dtype, shape, data: Kind.from(Array.from(data as ArrayLike<number>, (value) => convert(value))) };
}

/** Writes the inputs of a run into the core's memory while `use` runs. */
export function withTensors<T>(core: Core, tensors: Tensor[], use: (entries: number) => T): T {
  const head = tensors.length * TensorEntryAt.byteLength;
  const padded = (bytes: number) => (bytes + 15) & ~15;
  const total = tensors.reduce((sum, { data }) => sum + padded(data.byteLength), padded(head));
  return core.scratch(total, (entries) => {
    let at = entries + padded(head);
    tensors.forEach(({ dtype, shape, data }, i) => {
      if (shape.length > 8) throw new SconceError('invalid_argument', `Input ${i} has ${shape.length} dims; at most 8 are allowed.`);
      if (data.length !== shape.reduce((product, dim) => product * dim, 1))
        throw new SconceError('invalid_argument', `Input ${i} of shape [${shape}] has ${data.length} elements.`);
      core.bytes(at, data.byteLength).set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
      const view = core.view, entry = entries + i * TensorEntryAt.byteLength;
      view.setUint32(entry + TensorEntryAt.dtype, DTYPES.indexOf(dtype), true);
      view.setUint32(entry + TensorEntryAt.rank, shape.length, true);
      view.setUint32(entry + TensorEntryAt.at, at, true);
      view.setUint32(entry + TensorEntryAt.size, data.byteLength, true);
      shape.forEach((dim, d) => view.setBigInt64(entry + TensorEntryAt.dims + 8 * d, BigInt(dim), true));
      at += padded(data.byteLength);
    });
    return use(entries);
  });
}

/** Copies an output out of the core's memory. */
export function readTensor(core: Core, entry: number): Tensor {
  const view = core.view;
  const word = (member: number) => view.getUint32(entry + member, true);
  const dtype = DTYPES[word(TensorEntryAt.dtype)];
  const shape = Array.from({ length: word(TensorEntryAt.rank) }, (_, d) =>
    Number(view.getBigInt64(entry + TensorEntryAt.dims + 8 * d, true)));
  const bytes = core.bytes(word(TensorEntryAt.at), word(TensorEntryAt.size)).slice();
  return { dtype, shape, data: new ARRAYS[dtype](bytes.buffer) };
}
