// Loading in Chromium: servers that break, stall, lie or know no ranges; aborting at each stage; and SmolLM2, whole and as
// a file above 4 GB, in bounded memory.
//
//   node test/browser/loading.mjs [name filter]
import { existsSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { FIXTURES, MODEL, WORK, equal, finish, inPage, openBlank, startServer, test } from './chromium.mjs';

const llama = readFileSync(join(FIXTURES, 'ops/models/llama.pte'));

/** A server that does `answer(request, response, [begin, end])` to requests of the fixture, if that gives true. */
const llamaServer = (answer, options) => startServer({ ...options, onRequest: (request, response) => {
  if (!request.url.endsWith('/llama.pte')) return false;
  const [, begin, end] = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? '') ?? [];
  return answer(request, response, begin === undefined ? undefined : [Number(begin), Number(end)]) ?? false;
} });
const partial = ([begin, end], total = llama.length) => ({ 'Content-Length': end - begin + 1, 'Content-Range': `bytes ${begin}-${end}/${total}` });

/** Loads the fixture from a server: the code of the error, its sentence, and whether the logits are right. */
const loadFrom = async (address, page) => page.evaluate(async (url) => {
  const t = await import('/test/browser/in_page.mjs');
  window.device ??= await t.openDevice();
  const before = t.watched.buffers.size;
  let sentence = '';
  const code = await t.codeOf(t.loadLlama({ device }, url).then(async (model) => {
    const logits = await t.logitsOf(model);
    model.dispose();
    const reference = await t.loadLlama({ device });
    if (logits !== (await t.logitsOf(reference))) throw new t.SconceError('internal', 'The logits are others.');
    reference.dispose();
  }).catch((error) => { sentence = error.message; throw error; }));
  const left = t.watched.buffers.size - before;
  return { code, sentence, left };
}, address('/fixtures/ops/models/llama.pte'));

const page = await openBlank();
const served = (answer, wanted, says = /./, options = undefined) => async () => {
  const address = await llamaServer((request, response, range) => {
    response.setHeader('Access-Control-Allow-Origin', '*');
    response.setHeader('Access-Control-Expose-Headers', 'Content-Range');
    return answer(request, response, range);
  }, options);
  const { code, sentence, left } = await loadFrom(address, page);
  return equal(code, wanted, 'the code') + equal(left, 0, 'the number of buffers left') + (wanted === 'fine' || says.test(sentence) ? '' : `It says: ${sentence} `);
};

let drops = 4;
await test('a connection that drops in the midst is taken up again', async () => served((request, response, range) => {
  if (!range || range[1] - range[0] < 1000 || drops === 0) return false;
  --drops;
  response.writeHead(206, partial(range));
  response.write(llama.subarray(range[0], (range[0] + range[1]) >> 1));
  setTimeout(() => response.destroy(), 20);
  return true;
}, 'fine')().then((wrong) => wrong + equal(drops, 0, 'the number of drops left')));

let failures = 2;
await test('a server that fails for a while', served((request, response, range) => {
  if (!range || range[1] === 0 || failures === 0) return false;
  --failures;
  response.writeHead(503).end();
  return true;
}, 'fine'));
await test('a server that goes away for good', served((request, response, range) => {
  if (!range || range[1] === 0) return false;
  response.destroy();
  return true;
}, 'io', /cannot be read at byte \d+ after 5 attempts/));
await test('a file that changes while it is read', served((request, response, range) => {
  if (!range || range[1] === 0) return false;
  response.writeHead(206, partial(range, llama.length + 1)).end(llama.subarray(range[0], range[1] + 1));
  return true;
}, 'io', /has changed while it was read/));
await test('a server without ranges', served(() => false, 'fine', undefined, { ranges: false }));
await test('a server that drops the connection and knows no ranges', served((request, response) => {
  response.writeHead(200, { 'Content-Length': llama.length });
  response.write(llama.subarray(0, 30000));
  setTimeout(() => response.destroy(), 20);
  return true;
}, 'io', /cannot be read to its end/, { ranges: false }));
await test('a server that hides the size of the file', served((request, response) => response.removeHeader('Access-Control-Expose-Headers'), 'fine'));
await test('a server that this page may not ask', served((request, response) => response.removeHeader('Access-Control-Allow-Origin'), 'io', /cannot be fetched/));
await test('a missing file', served((request, response) => (response.writeHead(404).end(), true), 'not_found', /status 404/));
await test('a forbidden file', served((request, response) => (response.writeHead(403).end(), true), 'io', /status 403/));
await test('a page instead of a program', served((request, response) => (response.writeHead(200).end('<!doctype html><p>Sign in</p>'), true), 'corrupt_file'));
await test('half a program', served((request, response) => (response.writeHead(200).end(llama.subarray(0, llama.length >> 1)), true), 'corrupt_file'));
await page.context().close();

// ---- aborting ----

// A server that stalls when `stalls(range)` says so: aborting must not wait for it.
const stalling = async (stalls, options) => (await llamaServer((request, response, range) => {
  response.setHeader('Access-Control-Allow-Origin', '*');
  response.setHeader('Access-Control-Expose-Headers', 'Content-Range');
  return stalls(range);
}, options))('/fixtures/ops/models/llama.pte');
const never = {
  'the first request': await stalling(() => true),
  'the graph': await stalling((range) => range?.[1] > 0),
  'the weights': await stalling((range) => range?.[0] > 20000),
  'the whole body': await stalling(() => true, { ranges: false }),
};
await test('abort at each stage', inPage(async (t, never) => {
  let wrong = '';
  const shared = await t.openDevice(); // each new device compiles all kernels again
  const check = async (what, load, abort) => {
    const stop = new AbortController();
    const device = what.includes('of its own') ? undefined : shared;
    const loading = t.codeOf(load({ device, signal: stop.signal, ...abort(stop) }));
    const code = await Promise.race([loading, t.rest(20e3).then(() => 'nothing for 20 s')]);
    wrong += t.expect(`aborted at ${what}`, code, 'cancelled') + (await t.buffersLeft()).replace('buffers', `${what}: buffers`);
  };
  const later = (stop) => (setTimeout(() => stop.abort(), 300), {});
  for (const [what, url] of Object.entries(never)) await check(what, (options) => t.loadLlama(options, url), later);
  const at = (stage, count) => (stop) => {
    let seen = 0;
    return { progress: (p) => p.stage === stage && seen++ === count && stop.abort() };
  };
  await check('the start', t.loadLlama, (stop) => (stop.abort(), {}));
  for (const stage of ['weights', 'weights, with a device of its own', 'pipelines', 'pipelines, with a device of its own'])
    for (const count of [0, 5]) await check(`number ${count} of ${stage}`, t.loadLlama, at(stage.split(',')[0], count));
  const model = await t.loadLlama({ device: shared });
  wrong += t.expect('tokens of a load afterwards', (await t.logitsOf(model)).split(',').length, 128);
  model.dispose();
  return wrong + await t.buffersLeft();
}, never));

// ---- a real model ----

/** Peaks while SmolLM2 loads, in MB above the page's own; and what the first token's logits add up to. */
const loadMeasured = (page, url, cache) => page.evaluate(async ([url, cache]) => {
  const t = await import('/test/browser/in_page.mjs');
  let heap = 0, bytes = 0, cached = 0, looked = 0;
  const base = performance.memory.usedJSHeapSize;
  const progress = (p) => {
    if (performance.now() - looked > 100) { // looking takes long
      heap = Math.max(heap, performance.memory.usedJSHeapSize - base);
      looked = performance.now();
    }
    if (p.stage === 'weights') [bytes, cached] = [p.done, p.cached];
  };
  const model = await t.Sconce.load(url, { cache, progress, warmUp: false });
  const [logits] = await model.run([t.tensor('i64', [1, 1], [1]), t.tensor('i64', [1], [0])]);
  const sum = logits.data.reduce((sum, value) => sum + Math.abs(value), 0);
  const wasm = model.model.core.memoryBytes;
  model.dispose();
  return { bytes, cached, sum, heapMB: Math.round(heap / 1e6), wasmMB: Math.round(wasm / 1e6) };
}, [url, cache]);

if (existsSync(join(MODEL, 'model.pte'))) {
  const MOST_MB = 200; // of heap and module: chunks of 16 MiB under way, and what waits for the collector
  const large = join(WORK, 'large');
  mkdirSync(large, { recursive: true });
  writeFileSync(join(large, 'model.pte'), readFileSync(join(MODEL, 'model.pte')));
  truncateSync(join(large, 'model.pte'), 5 * 2 ** 30); // the model, then a hole
  const plain = await startServer({ ranges: false });
  let sum;
  const page = await openBlank();
  const load = async (name, from, url, ofStorage, cache = true) => {
    const result = await loadMeasured(from, url, cache);
    console.log(`     ${name}: ${result.bytes} bytes of weights, ${result.cached} from storage; peaks: heap ${result.heapMB} MB, module ${result.wasmMB} MB`);
    sum ??= result.sum;
    const kept = ofStorage ? result.cached > 0.9 * result.bytes : result.cached === 0;
    return equal(result.sum, sum, 'the sum of the logits') + (result.bytes > 5e7 ? '' : 'Too few bytes. ') +
      (result.heapMB + result.wasmMB < MOST_MB ? '' : `More than ${MOST_MB} MB of memory. `) +
      (kept ? '' : `${result.cached} bytes come from storage. `);
  };
  await test('SmolLM2 by ranges', () => load('by ranges', page, '/model/model.pte', false));
  await test('SmolLM2 from storage', () => load('from storage', page, '/model/model.pte', true));
  await page.context().close();
  await test('SmolLM2 in a file of 5 GiB', async () => {
    const page = await openBlank();
    const wrong = await load('5 GiB', page, '/work/large/model.pte', false, false);
    await page.context().close();
    return wrong;
  });
  await test('SmolLM2 in one body', async () => {
    const page = await openBlank({}, plain);
    const wrong = await load('one body', page, '/model/model.pte', false, false);
    await page.context().close();
    return wrong;
  });
}

await finish();
