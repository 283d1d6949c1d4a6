// Answers of a small llama with made-up weights, in Node: steps submitted ahead of the host, stopping, disposing.
//
//   node test/chat.mjs
import { readFileSync } from 'node:fs';

import './node_device.mjs';
import { Sconce, tensor } from '../dist/index.js';
import { openDevice } from '../dist/gpu.js';
import { difference } from './cases.mjs';
import { chatFiles, words } from './tiny_chat.mjs';

// What the driver does, in order; and the buffers that live.
const calls = [];
const buffers = new Set();
const device = await openDevice();
const spy = (prototype, name, before) => {
  const call = prototype[name];
  prototype[name] = function (...args) {
    before?.(this);
    const result = call.apply(this, args);
    if (name === 'createBuffer') buffers.add(result);
    return result;
  };
};
spy(Object.getPrototypeOf(device), 'createBuffer');
spy(Object.getPrototypeOf(device.queue), 'submit', () => calls.push('submit'));
spy(GPUBuffer.prototype, 'getMappedRange', () => calls.push('read'));
spy(GPUBuffer.prototype, 'destroy', (buffer) => buffers.delete(buffer));

const program = readFileSync(new URL('../../tests/fixtures/ops/models/llama.pte', import.meta.url));
const load = (endTokens) => Sconce.load(chatFiles(program, endTokens), { device, warmUp: false });

let failures = 0;
async function test(name, body) {
  let wrong = '';
  const expect = (what, actual, wanted) => {
    if (`${actual}` !== `${wanted}`) wrong += `${what} is ${actual} instead of ${wanted}. `;
  };
  try {
    await body(expect);
  } catch (error) {
    wrong += error.stack ?? error;
  }
  console.log(`${wrong ? 'FAIL' : 'ok  '} ${name} ${wrong}`);
  if (wrong) ++failures;
}
async function answer(chat, question, options) {
  let text = '';
  for await (const piece of chat.send(question, options)) text += piece;
  return text.trim();
}
const SAMPLED = { temperature: 1, topK: 40, seed: 3n, maxNewTokens: 8 };
const model = await load();

await test('the same tokens however far ahead', async (expect) => {
  for (const options of [{ maxNewTokens: 8 }, SAMPLED]) {
    const [alone, ahead] = [await model.chat({ stepsAhead: 1 }), await model.chat({ stepsAhead: 4 })];
    for (const question of ['w1 w2 w3', 'w9']) {
      const wanted = await answer(alone, question, options);
      expect('the number of tokens', wanted.split(' ').length, 8);
      expect('the answer', await answer(ahead, question, options), wanted);
      expect('the reason', ahead.times.stopReason, 'max_new_tokens');
      expect('what was prefilled', ahead.times.prefilledTokens, alone.times.prefilledTokens);
    }
    alone.dispose();
    ahead.dispose();
  }
});

await test('steps are submitted before the first token is read', async (expect) => {
  for (const stepsAhead of [1, 3]) {
    const chat = await model.chat({ stepsAhead });
    calls.length = 0;
    await answer(chat, 'w1 w2', { maxNewTokens: 6 });
    expect('the number of submissions before the first read', calls.indexOf('read'), stepsAhead);
    expect('the number of submissions', calls.filter((call) => call === 'submit').length, 6);
    chat.dispose();
  }
});

await test('on a software adapter one step runs at a time', async (expect) => {
  if (!model.model.gpu.isSoftware) return;
  const chat = await model.chat();
  calls.length = 0;
  await answer(chat, 'w1 w2', { maxNewTokens: 3 });
  expect('the order', calls, ['submit', 'read', 'submit', 'read', 'submit', 'read']);
  chat.dispose();
});

await test('an answer that is stopped, and one after it', async (expect) => {
  const texts = [];
  for (const stepsAhead of [1, 4]) {
    const chat = await model.chat({ stepsAhead });
    const stop = new AbortController();
    let first = '';
    for await (const piece of chat.send('w1 w2 w3', { ...SAMPLED, maxNewTokens: 20, signal: stop.signal })) {
      first += piece;
      if (first.trim().split(' ').length === 3) stop.abort();
    }
    expect('the reason', chat.times.stopReason, 'cancelled');
    let broken = '';
    for await (const piece of chat.send('w7', SAMPLED)) if ((broken += piece).trim().split(' ').length === 2) break;
    texts.push([first, broken, await answer(chat, 'w4 w5', SAMPLED)].join(' | '));
    chat.dispose();
  }
  expect('what is said with steps ahead', texts[1], texts[0]);
});

await test('an end token ends the answer, also as the first one', async (expect) => {
  const chat = await model.chat({ stepsAhead: 1 });
  const tokens = (await answer(chat, 'w1 w2 w3', SAMPLED)).split(' ');
  chat.dispose();
  for (const [at, stepsAhead] of [[0, 1], [0, 4], [3, 1], [3, 4]]) {
    if (tokens.indexOf(tokens[at]) < at) continue;
    const ending = await load([words.indexOf(tokens[at])]);
    const chat = await ending.chat({ stepsAhead });
    expect('the answer', await answer(chat, 'w1 w2 w3', SAMPLED), tokens.slice(0, at).join(' '));
    expect('the reason', chat.times.stopReason, 'stop');
    ending.dispose();
  }
});

await test('the context is full', async (expect) => {
  for (const stepsAhead of [1, 4]) {
    const chat = await model.chat({ stepsAhead });
    await answer(chat, 'w1 w2', {});
    expect('the reason', chat.times.stopReason, 'length');
    await chat.clear();
    expect('the number of tokens', (await answer(chat, 'w1 w2', { maxNewTokens: 2 })).split(' ').length, 2);
    chat.dispose();
  }
});

await test('disposed in the midst of an answer', async (expect) => {
  const before = buffers.size;
  for (const stepsAhead of [1, 4]) {
    const chat = await model.chat({ stepsAhead });
    let pieces = 0, code = 'none';
    try {
      for await (const _ of chat.send('w1 w2', SAMPLED)) if (++pieces === 2) chat.dispose();
    } catch (error) {
      code = error.code;
    }
    expect('the code', code, 'cancelled');
    expect('a further question', await answer(chat, 'w1', {}).catch(({ code }) => code), 'cancelled');
    chat.dispose();
  }
  await device.queue.onSubmittedWorkDone();
  expect('the number of buffers', buffers.size, before);
});

await test('a tokenizer that is none says so, and leaves nothing', async (expect) => {
  const broken = chatFiles(program);
  broken[1] = new File([JSON.stringify({ model: { type: 'BPE' } })], 'tokenizer.json');
  const before = buffers.size;
  const other = await Sconce.load(broken, { device, warmUp: false });
  expect('the code', await other.chat().then(() => 'made', ({ code }) => code), 'corrupt_file');
  other.dispose();
  await device.queue.onSubmittedWorkDone();
  expect('the number of buffers', buffers.size, before);
});

await test('caches of f16 take less memory and give nearly the same', async (expect) => {
  const file = new File([program], 'model.pte'), options = { device, warmUp: false, cache: false };
  const outputs = [], bytes = [];
  for (const halfCaches of [false, true]) {
    const loaded = await Sconce.load(file, { ...options, halfCaches });
    const session = await loaded.method();
    await session.run([tensor('i64', [1, 5], [3, 1, 4, 1, 5]), tensor('i64', [1], [0])]);
    outputs.push((await session.run([tensor('i64', [1, 1], [9]), tensor('i64', [1], [5])])).at(-1));
    bytes.push(session.deviceBytes);
    loaded.dispose();
  }
  // Rounded to 11 bits: each key and value moves by up to 2^-12 of itself.
  expect('the difference', difference(outputs[1], outputs[0], { atol: 1 / 256, rtol: 1 / 256 }), '');
  const rounds = device.features.has('shader-f16');
  expect('whether there is less to hold', bytes[1] < bytes[0], rounds);
  expect('whether anything is rounded', difference(outputs[1], outputs[0], { atol: 0, rtol: 0 }) !== '', rounds);
});

model.dispose();
await test('nothing is left', async (expect) => expect('the number of buffers', buffers.size, 0));
process.exit(failures > 0 ? 1 : 0);
