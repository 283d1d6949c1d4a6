// Random sequences of runs at changing live shapes, with failing runs and resets mixed in: every output must be that of a
// session that has seen nothing else (as tests/sequence_test.cpp does natively). For Node and for a page.
import { difference, randomFrom } from './cases.mjs';

const EXACT = { atol: 0, rtol: 0 };
const ROUNDING = { atol: 1e-3, rtol: 1e-3 }; // between a prompt in one piece and token by token

/** Which fixture models have live dims where; `capacity`: a language model with that many rows in its KV cache. */
const MODELS = [
  { name: 'residual_mlp', live: [1] },
  { name: 'pooled', live: [0, 1] },
  { name: 'llama', vocabulary: 128, capacity: 64 },
];

class Sequence {
  constructor(sconce, model, { live, vocabulary, capacity }, seed) {
    Object.assign(this, { sconce, model, live, vocabulary, capacity });
    const random = randomFrom(seed);
    this.pick = (low, high) => low + Math.floor(random() * (high - low + 1));
    this.input = model.methods.find(({ name }) => name === 'forward').inputs[0];
    this.held = []; // tokens in the KV cache
  }

  /** Valid inputs of a run: [tokens, position] of a language model, else a tensor of live shape. */
  draw() {
    const { pick, input, held, sconce } = this;
    if (!this.capacity) {
      const shape = input.bound.map((bound, dim) => (this.live.includes(dim) ? pick(0, bound) : bound));
      const count = shape.reduce((product, dim) => product * dim, 1);
      const element = input.dtype === 'f32' ? () => pick(-1000, 1000) / 1000 : () => pick(0, 49); // indices of a table
      return [sconce.tensor(input.dtype, shape, Array.from({ length: count }, element))];
    }
    const full = held.length >= this.capacity;
    const position = full || pick(0, 4) === 0 ? pick(0, Math.max(0, held.length - 1)) : held.length;
    const most = Math.min(this.capacity - position, input.bound[1]);
    const tokens = Array.from({ length: pick(0, 1) === 0 ? 1 : pick(1, most) }, () => pick(0, this.vocabulary - 1));
    return this.inputsOf(tokens, position);
  }
  inputsOf(tokens, position) {
    return [this.sconce.tensor('i64', [1, tokens.length], tokens), this.sconce.tensor('i64', [1], [position])];
  }

  /** Inputs that must be refused, and change nothing. */
  spoilt() {
    const [first, ...rest] = this.draw();
    const { tensor } = this.sconce;
    const zeros = (dtype, shape) => tensor(dtype, shape, new Array(shape.reduce((product, dim) => product * dim, 1)).fill(0));
    switch (this.pick(0, this.capacity ? 4 : 3)) {
      case 0: return [zeros(first.dtype, first.shape.map((dim, i) => (i === 1 ? this.input.bound[1] + this.pick(1, 3) : dim))), ...rest];
      case 1: return [zeros(first.dtype, [...first.shape, 1]), ...rest];
      case 2: return rest;
      case 3: return [zeros('bool', first.shape), ...rest];
      default: return this.inputsOf([1, 2], this.capacity - 1);
    }
  }

  /** What the inputs give in a session that has seen nothing but what they build on. */
  async fresh(inputs) {
    const session = await this.model.method();
    try {
      if (!this.capacity) return await session.run(inputs);
      let outputs;
      for (let at = 0; at < this.held.length; at += this.input.bound[1])
        outputs = await session.run(this.inputsOf(this.held.slice(at, at + this.input.bound[1]), at));
      return outputs;
    } finally {
      session.dispose();
    }
  }

  async run(runs) {
    const session = await this.model.method();
    for (let i = 0; i < runs; ++i) {
      const kind = this.pick(0, 9);
      if (kind === 0) {
        await session.reset();
        this.held = [];
      }
      if (kind < 4) {
        const code = await session.run(this.spoilt()).then(() => 'no error', (error) => error.code);
        if (code !== 'invalid_argument') return `run ${i}: spoilt inputs give ${code}`;
      }
      const inputs = this.draw();
      const outputs = await session.run(inputs);
      if (this.capacity) this.held = [...this.held.slice(0, Number(inputs[1].data[0])), ...Array.from(inputs[0].data, Number)];
      const wanted = await this.fresh(inputs);
      for (const [o, output] of outputs.entries()) {
        const wrong = difference(output, wanted[o], this.capacity ? ROUNDING : EXACT);
        if (wrong) return `run ${i} at [${inputs[0].shape}]: output ${o} ${wrong} in a fresh session`;
      }
    }
    session.dispose();
    return '';
  }
}

/** Gives what is wrong. `open` gives a Blob of a fixture (ops/models/llama.pte). */
export async function runSequences(sconce, device, open, { sequences, runs }) {
  let all = '';
  for (const each of MODELS) {
    const model = await sconce.Sconce.load(await open(`ops/models/${each.name}.pte`), { device, warmUp: false, cache: false });
    for (let seed = 0; seed < sequences; ++seed) {
      const wrong = await new Sequence(sconce, model, each, seed).run(runs);
      if (wrong) all += `${each.name}, sequence ${seed}: ${wrong}\n`;
    }
    model.dispose();
  }
  return all;
}

/** Lengths in this order in one loaded method, a failing run between them; each must equal a load of its own. */
export async function runLengths(sconce, device, open) {
  const { Sconce, tensor } = sconce;
  const load = async () => Sconce.load(await open('ops/models/residual_mlp.pte'), { device, warmUp: false, cache: false });
  const reused = await load();
  const [{ bound }] = reused.methods[0].inputs;
  const most = bound[1];
  const waves = (length) => {
    const shape = bound.map((dim, d) => (d === 1 ? length : dim));
    const count = shape.reduce((product, dim) => product * dim, 1);
    return tensor('f32', shape, Array.from({ length: count }, (_, i) => Math.sin(i)));
  };
  const lengths = [most - 1, most, most >> 1, 7, 1, 0, most >> 1, most];
  for (const length of lengths) {
    const input = waves(length);
    const code = await reused.run([waves(most + 1)]).then(() => 'no error', (error) => error.code);
    if (code !== 'invalid_argument') return `a length above the bound gives ${code}`;
    const fresh = await load();
    const [[actual], [wanted]] = [await reused.run([input]), await fresh.run([input])];
    fresh.dispose();
    const wrong = difference(actual, wanted, EXACT);
    if (wrong) return `length ${length} ${wrong} of a fresh load`;
  }
  reused.dispose();
  return '';
}
