// Operator cases (tests/fixtures/ops) as the C++ tests read them: a .pte program and a .safetensors file of inputs and
// goldens. Works on bytes, so that Node and a page share it.

const DTYPES = { F32: 'f32', F16: 'f16', F64: 'f64', I64: 'i64', I32: 'i32', U8: 'u8', I8: 'i8', BOOL: 'bool' };
const ARRAYS = {
  f32: Float32Array, f16: Uint16Array, f64: Float64Array, i64: BigInt64Array, i32: Int32Array, u8: Uint8Array, i8: Int8Array, bool: Uint8Array,
};

export function parseCase(bytes) {
  const headerBytes = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + headerBytes)));
  const metadata = header.__metadata__;
  const tensor = ({ dtype, shape, data_offsets: [begin, end] }) => {
    const kind = DTYPES[dtype];
    const data = bytes.slice(8 + headerBytes + begin, 8 + headerBytes + end);
    return { dtype: kind, shape, data: new ARRAYS[kind](data.buffer) };
  };
  const numbered = (run, kind) => {
    const list = [];
    for (let entry; (entry = header[`${run}.${kind}${list.length}`]); ) list.push(tensor(entry));
    return list;
  };
  const fails = new Set((metadata.fails ?? '').split(',').filter(Boolean).map(Number));
  return {
    tolerance: { atol: Number(metadata.atol), rtol: Number(metadata.rtol) },
    loads: metadata.loads === 'true',
    runs: Array.from({ length: Number(metadata.runs) }, (_, run) => ({
      inputs: numbered(run, 'in'), goldens: numbered(run, 'out'), fails: fails.has(run),
    })),
  };
}

/** What is wrong with an output; nothing when it is within the case's tolerance (tests/support/compare.cpp). */
export function difference(actual, golden, { atol, rtol }) {
  if (!actual || actual.dtype !== golden.dtype || `${actual.shape}` !== `${golden.shape}`)
    return `is ${actual?.dtype} [${actual?.shape}] instead of ${golden.dtype} [${golden.shape}]`;
  const isReal = golden.dtype === 'f32' || golden.dtype === 'f64';
  for (let i = 0; i < golden.data.length; ++i) {
    const [a, g] = [Number(actual.data[i]), Number(golden.data[i])];
    if (a === g || (Number.isNaN(a) && Number.isNaN(g))) continue;
    const error = Math.abs(a - g);
    if (isReal && (error <= atol || error / Math.max(Math.abs(g), 1e-6) <= rtol)) continue;
    return `element ${i} is ${a} instead of ${g}`;
  }
  return '';
}

/**
 * Runs a case in one session, in the listed order, and then fresh ones for its last run; gives what is wrong.
 * `open` gives a Blob of the case's file with an ending, or nothing.
 */
export async function runCase({ Sconce, SconceError }, device, open) {
  const { loads, runs, tolerance } = parseCase(new Uint8Array(await (await open('.safetensors')).arrayBuffer()));
  const data = [];
  for (let file; (file = await open(`.${data.length}.ptd`)); ) data.push(file);
  let model;
  try {
    model = await Sconce.load(await open('.pte'), { device, data, warmUp: false, cache: false });
  } catch (error) {
    if (!loads && error instanceof SconceError && error.code !== 'internal') return '';
    return `does not load: ${error.message}`;
  }
  try {
    if (!loads) return 'must not load';
    const session = await model.method();
    for (const [i, { inputs, goldens, fails }] of runs.entries()) {
      let outputs;
      try {
        outputs = await session.run(inputs);
      } catch (error) {
        if (fails && error instanceof SconceError && error.code !== 'internal') continue;
        return `run ${i}: ${error.message}`;
      }
      if (fails) return `run ${i} must fail`;
      const first = outputs.length - goldens.length; // a method returns the inputs that it writes first
      for (const [o, golden] of goldens.entries()) {
        const wrong = difference(outputs[first + o], golden, tolerance);
        if (wrong) return `run ${i}, output ${o}: ${wrong}`;
      }
    }
    return '';
  } finally {
    model.dispose();
  }
}
