// The library and the chat page in headless Chromium with its software adapter:
//
//   node test/browser.mjs [MODEL_DIR]     without a model directory only what needs none
//
// Screenshots of the page go to ../build/web/.
import { existsSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

import { serve } from '../serve.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const fixtures = here('../../tests/fixtures/');
const shots = here('../../build/web/');
mkdirSync(shots, { recursive: true });
const FLAGS = ['--no-sandbox', '--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader', '--enable-precise-memory-info'];
const MODEL = process.argv[2] && resolve(process.argv[2]);

let drops = 0; // connections that the server is still to break
const broken = (request, response) => {
  if (drops === 0 || !request.url.endsWith('.pte') || /bytes=0-/.test(request.headers.range ?? '')) return false;
  --drops;
  const [, begin, end] = /bytes=(\d+)-(\d+)/.exec(request.headers.range).map(Number);
  response.writeHead(206, { 'Content-Length': end - begin + 1, 'Content-Range': `bytes ${begin}-${end}/*` });
  response.write(Buffer.alloc(0));
  setTimeout(() => response.destroy(), 20);
  return true;
};
const folders = {
  '/dist/': here('../dist/'), '/node_modules/': here('../node_modules/'), '/test/': here('./'), '/fixtures/': fixtures, '/work/': shots,
  ...(MODEL && { '/model/': MODEL }), '/': here('../page/dist/'),
};
const server = await serve(folders, { onRequest: broken });
const plain = await serve(folders, { ranges: false });
const at = (path, from = server) => `http://localhost:${from.address().port}${path}`;

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', headless: false, args: ['--headless=new', ...FLAGS] });

// Counts GPU buffers, and keeps the device so that tests can lose it.
function watch() {
  window.buffers = new Set();
  const { createBuffer } = GPUDevice.prototype, { destroy } = GPUBuffer.prototype, { requestDevice } = GPUAdapter.prototype;
  GPUDevice.prototype.createBuffer = function (descriptor) {
    const buffer = createBuffer.call(this, descriptor);
    window.buffers.add(buffer);
    return buffer;
  };
  GPUBuffer.prototype.destroy = function () {
    window.buffers.delete(this);
    destroy.call(this);
  };
  GPUAdapter.prototype.requestDevice = async function (descriptor) {
    return (window.lastDevice = await requestDevice.call(this, descriptor));
  };
}

async function openPage(path, options = {}) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.on('pageerror', (error) => { throw error; });
  await page.addInitScript(watch);
  await page.goto(at(path));
  return page;
}

let failures = 0;
async function test(name, body) {
  const start = performance.now();
  let wrong = '';
  try {
    wrong = (await body()) ?? '';
  } catch (error) {
    wrong = String(error.stack ?? error);
  }
  console.log(`${wrong ? 'FAIL' : 'ok  '} ${name} (${((performance.now() - start) / 1000).toFixed(1)} s) ${wrong}`);
  if (wrong) ++failures;
}
const equal = (actual, wanted, what) => (actual === wanted ? '' : `${what} is ${actual} instead of ${wanted}. `);

// ---- the library, in a blank page ----

const MAP = `<!doctype html><script type="importmap">{"imports":{
  "@huggingface/jinja":"/node_modules/@huggingface/jinja/dist/index.js",
  "@huggingface/tokenizers":"/node_modules/@huggingface/tokenizers/dist/tokenizers.mjs"}}</script>`;
writeFileSync(join(shots, 'blank.html'), MAP);
const blank = await openPage('/work/blank.html');

const everyTenth = readdirSync(join(fixtures, 'ops'), { recursive: true })
  .filter((name) => name.endsWith('.pte')).map((name) => name.slice(0, -4)).sort().filter((_, i) => i % 10 === 0);
await test(`${everyTenth.length} operator cases`, () => blank.evaluate(async (names) => {
  const sconce = await import('/dist/index.js');
  const { openDevice } = await import('/dist/gpu.js');
  const { runCase } = await import('/test/cases.mjs');
  const device = await openDevice();
  let all = '';
  for (const name of names) {
    const open = async (ending) => {
      const response = await fetch(`/fixtures/ops/${name}${ending}`);
      return response.ok ? response.blob() : undefined;
    };
    const wrong = await runCase(sconce, device, open);
    if (wrong) all += `${name}: ${wrong}\n`;
  }
  return all;
}, everyTenth));

await test('50 loads and disposals leave nothing', () => blank.evaluate(async () => {
  const { Sconce, tensor } = await import('/dist/index.js');
  const { openDevice } = await import('/dist/gpu.js');
  const device = await openDevice();
  const before = window.buffers.size;
  for (let i = 0; i < 50; ++i) {
    const model = await Sconce.load('/fixtures/program/kv_caches.pte', { device });
    await model.method();
    model.dispose();
  }
  return window.buffers.size === before ? '' : `${window.buffers.size - before} buffers are left`;
}));

await test('abort while loading', () => blank.evaluate(async () => {
  const { Sconce } = await import('/dist/index.js');
  const before = window.buffers.size;
  const stop = new AbortController();
  const loading = Sconce.load('/fixtures/program/kv_caches.pte', { signal: stop.signal, progress: () => stop.abort() });
  stop.abort();
  const code = await loading.then(() => 'loaded', ({ code }) => code);
  return code === 'cancelled' && window.buffers.size === before ? '' : `code ${code}, ${window.buffers.size - before} buffers are left`;
}));

await test('a missing file says so', () => blank.evaluate(async () => {
  const { Sconce } = await import('/dist/index.js');
  const error = await Sconce.load('/fixtures/none.pte').catch((error) => error);
  return error.code === 'not_found' ? '' : `${error.code}: ${error.message}`;
}));

if (MODEL) await withModel();

async function withModel() {
  // A file above 4 GiB: the model, then a hole.
  const large = join(shots, 'large');
  mkdirSync(large, { recursive: true });
  const huge = join(large, 'model.pte');
  if (!existsSync(huge)) writeFileSync(huge, readFileSync(join(MODEL, 'model.pte')));
  truncateSync(huge, 5 * 2 ** 30);

  const peak = `(async (url) => {
    const { Sconce } = await import('/dist/index.js');
    let most = 0, bytes = 0, cached = 0;
    const base = performance.memory.usedJSHeapSize;
    const model = await Sconce.load(url, { progress: (p) => { most = Math.max(most, performance.memory.usedJSHeapSize - base); if (p.stage === 'weights') [bytes, cached] = [p.done, p.cached]; } });
    const wasm = model.model.core.memoryBytes;
    model.dispose();
    return { bytes, cached, heapMB: most / 1e6, wasmMB: wasm / 1e6 };
  })`;
  const load = (url, page = blank) => page.evaluate(`${peak}(${JSON.stringify(url)})`);
  const tell = (name, { bytes, cached, heapMB, wasmMB }) =>
    console.log(`     ${name}: ${bytes} bytes of weights, ${cached} from storage, heap peak ${heapMB.toFixed(1)} MB, wasm ${wasmMB.toFixed(1)} MB`);

  await test('dropped connections are taken up again', async () => {
    drops = 3;
    const result = await load('/model/model.pte');
    tell('cold', result);
    return equal(drops, 0, 'the number of connections left to drop') + equal(result.cached, 0, 'what came from storage');
  });
  await test('the second load comes from storage', async () => {
    const result = await load('/model/model.pte');
    tell('cached', result);
    return result.cached > 0.9 * result.bytes ? '' : `only ${result.cached} of ${result.bytes} bytes`;
  });
  await test('a file above 4 GB', async () => {
    const page = await openPage('/work/blank.html');
    const result = await load('/work/large/model.pte', page);
    tell('5 GiB file', result);
    await page.context().close();
    return result.bytes > 5e7 ? '' : 'too few bytes';
  });
  await test('a server without ranges', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(at('/work/blank.html', plain));
    const result = await load('/model/model.pte', page);
    tell('one body', result);
    await context.close();
    return result.bytes > 5e7 ? '' : 'too few bytes';
  });
  await test('the chat page', () => chatPage());
}

async function chatPage() {
  const page = await openPage('/work/blank.html', { viewport: { width: 1100, height: 760 } });
  const answered = () => page.waitForSelector('#send:not([hidden])', { timeout: 240e3 });
  const settings = async (tokens) => {
    await page.locator('summary').click();
    await page.locator('#temperature').fill('0');
    await page.locator('#length').fill(String(tokens));
  };
  const ask = async (question) => {
    await page.locator('#text').fill(question);
    await page.keyboard.press('Enter');
  };
  const wordsCome = (count) => page.waitForFunction(
    (count) => [...document.querySelectorAll('.assistant p')].at(-1)?.textContent.length >= count, count, { timeout: 240e3 });
  const seconds = (since) => ((performance.now() - since) / 1000).toFixed(1);
  const begin = async (name) => {
    const start = performance.now();
    await page.goto(at('/?model=model/'));
    await page.waitForSelector('#chat:not([hidden])', { timeout: 120e3 });
    const loaded = seconds(start);
    await settings(24);
    await ask('What is the capital of France?');
    await wordsCome(1);
    console.log(`     ${name}: page load to a loaded model ${loaded} s, to the first token ${seconds(start)} s`);
    await answered();
    console.log(`     ${await page.locator('.assistant .about span').last().textContent()}`);
  };
  await begin('cold');
  await begin('cached');
  const answer = await page.locator('.assistant p').last().textContent();
  await page.screenshot({ path: join(shots, 'desktop.png') });
  await page.locator('#theme').click();
  await page.screenshot({ path: join(shots, 'dark.png') });
  await page.setViewportSize({ width: 390, height: 760 });
  await page.screenshot({ path: join(shots, 'mobile.png') });

  // Stop, then go on in the same conversation.
  await ask('Tell me a long story.');
  await wordsCome(6);
  await page.locator('#stop').click();
  await answered();
  const stopped = await page.locator('.assistant .about span').last().textContent();

  // The device goes away in the middle of an answer.
  await ask('Go on.');
  await wordsCome(1);
  await page.evaluate(() => window.lastDevice.destroy());
  await page.waitForSelector('#notice:not([hidden])', { timeout: 60e3 });
  const notice = await page.locator('#notice-text').textContent();
  await page.screenshot({ path: join(shots, 'lost.png') });
  await page.locator('#notice-action').click();
  await page.waitForSelector('#chat:not([hidden])', { timeout: 120e3 });
  await page.locator('#length').fill('3');
  await ask('Hello');
  await answered();
  const afterwards = await page.locator('.assistant p').last().textContent();
  await page.locator('#unload').click();
  await page.screenshot({ path: join(shots, 'start.png') });
  await page.waitForFunction(() => window.buffers.size === 0, undefined, { timeout: 10e3 });
  await page.context().close();
  return (/Paris/.test(answer) ? '' : `the answer is "${answer}". `) + (/stopped/.test(stopped) ? '' : `after stop: ${stopped}. `) +
    (/took the GPU away/.test(notice) ? '' : `the notice is ${notice}. `) + (afterwards.length > 0 ? '' : 'no answer after the reload. ');
}

await browser.close();
server.close();
plain.close();
process.exit(failures > 0 ? 1 : 0);
