// Operator cases (tests/fixtures/ops) as the C++ tests read them: a .pte program and a .safetensors file of inputs and
// goldens. Works on bytes, so that Node and a page share it.

const DTYPES = { F32: 'f32', F16: 'f16', F64: 'f64', I64: 'i64', I32: 'i32', U8: 'u8', I8: 'i8', BOOL: 'bool' };
const ARRAYS = {
  f32: Float32Array, f16: Uint16Array, f64: Float64Array, i64: BigInt64Array, i32: Int32Array, u8: Uint8Array, i8: Int8Array, bool: Uint8Array,
};

/** The tensors of a .safetensors file by name, and its metadata. */
export function parseTensors(bytes) {
  const headerBytes = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const { __metadata__: metadata, ...entries } = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + headerBytes)));
  const tensors = {};
  for (const [name, { dtype, shape, data_offsets: [begin, end] }] of Object.entries(entries)) {
    const kind = DTYPES[dtype];
    const data = bytes.slice(8 + headerBytes + begin, 8 + headerBytes + end);
    tensors[name] = { dtype: kind, shape, data: new ARRAYS[kind](data.buffer) };
  }
  return { tensors, metadata };
}

export function parseCase(bytes) {
  const { tensors, metadata } = parseTensors(bytes);
  const numbered = (run, kind) => {
    const list = [];
    for (let tensor; (tensor = tensors[`${run}.${kind}${list.length}`]); ) list.push(tensor);
    return list;
  };
  const fails = new Set((metadata.fails ?? '').split(',').filter(Boolean).map(Number));
  return {
    tolerance: { atol: Number(metadata.atol), rtol: Number(metadata.rtol) },
    loads: metadata.loads === 'true',
    stateful: metadata.stateful === 'true', // a run finds what earlier ones left behind
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

/** Random numbers in [0, 1) from a seed, the same everywhere (mulberry32). */
export function randomFrom(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

function shuffled(list) {
  const random = randomFrom(list.length), left = [...list];
  return list.map(() => left.splice(Math.floor(random() * left.length), 1)[0]);
}

/** What is wrong with a run of `session`; nothing when it gives the goldens, or fails as it must. */
async function wrongRun(SconceError, session, { inputs, goldens, fails }, tolerance) {
  let outputs;
  try {
    outputs = await session.run(inputs);
  } catch (error) {
    return fails && error instanceof SconceError && error.code !== 'internal' ? '' : error.message;
  }
  if (fails) return 'the run must fail';
  const first = outputs.length - goldens.length; // a method returns the inputs that it writes first
  for (const [o, golden] of goldens.entries()) {
    const wrong = difference(outputs[first + o], golden, tolerance);
    if (wrong) return `output ${o} ${wrong}`;
  }
  return '';
}

/**
 * Runs a case; gives what is wrong. `sessions`:
 * reused  all runs in one session, in the listed order; then in random order, or the same after a reset if they build on
 *         each other;
 * fresh   each run in a session of its own, unless they build on each other.
 * `open` gives a Blob of the case's file with an ending, or nothing.
 */
export async function runCase({ Sconce, SconceError }, device, open, sessions) {
  const { loads, stateful, runs, tolerance } = parseCase(new Uint8Array(await (await open('.safetensors')).arrayBuffer()));
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
    const listed = [...runs.keys()];
    let session = await model.method();
    const pass = async (order, between = () => {}) => {
      for (const i of order) {
        await between();
        const wrong = await wrongRun(SconceError, session, runs[i], tolerance);
        if (wrong) return `run ${i} of ${order}: ${wrong}`;
      }
      return '';
    };
    if (sessions === 'fresh' && !stateful)
      return await pass(listed, async () => {
        session.dispose();
        session = await model.method();
      });
    const wrong = await pass(listed);
    if (wrong || sessions === 'fresh') return wrong;
    if (stateful) await session.reset();
    return await pass(stateful ? listed : shuffled(listed));
  } finally {
    model.dispose();
  }
}
