// What tests do inside of a page or a worker, where watch.js counts buffers.
import { Sconce, SconceError, clearCache, tensor } from '/dist/index.js';
import { openDevice } from '/dist/gpu.js';
import { chatFiles } from '/test/tiny_chat.mjs';

export { Sconce, SconceError, clearCache, openDevice, tensor };
export const watched = globalThis.watched;

/** How a promise ends: the code of its SconceError, 'fine', or what else it throws. */
export const codeOf = (promise) => promise.then(() => 'fine', (error) => (error instanceof SconceError ? error.code : `${error.stack}`));
export const rest = (ms = 0) => new Promise((resolve) => setTimeout(resolve, ms));
export const expect = (what, actual, wanted) => (`${actual}` === `${wanted}` ? '' : `${what}: ${actual} instead of ${wanted}. `);

/** The fixture model with weights and a KV cache, small enough to load in no time. */
export const LLAMA = '/fixtures/ops/models/llama.pte';
export const loadLlama = (options = {}, url = LLAMA) => Sconce.load(url, { cache: false, warmUp: false, ...options });
export const someTokens = (count = 5) => [tensor('i64', [1, count], Array.from({ length: count }, (_, i) => (7 * i + 3) % 128)), tensor('i64', [1], [0])];
/** The logits of some tokens, to compare models with. */
export async function logitsOf(model) {
  const session = await model.method();
  const [logits] = await session.run(someTokens());
  session.dispose();
  return logits.data.join();
}

/** The same with a tokenizer of words: what a chat needs. */
export async function loadChat(options = {}) {
  const program = await (await fetch(LLAMA)).arrayBuffer();
  return Sconce.load(chatFiles(program), { cache: false, warmUp: false, ...options });
}
export const SAMPLED = { temperature: 0.8, seed: 5n, maxNewTokens: 12 };
export async function say(chat, question, options = SAMPLED, onPiece = async () => {}) {
  let answer = '';
  for await (const piece of chat.send(question, options)) {
    answer += piece;
    await onPiece(answer);
  }
  return answer;
}

/** What is left on the GPU, when queued work is done. */
export async function buffersLeft(wanted = 0) {
  for (let i = 0; i < 40 && watched.buffers.size !== wanted; ++i) await rest(25);
  return expect('buffers on the GPU', watched.buffers.size, wanted);
}
