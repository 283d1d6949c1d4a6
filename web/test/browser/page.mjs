// The chat page, used by keyboard and mouse as a person would; screenshots of each state go to build/web/ for looking at.
//
//   node test/browser/page.mjs [name filter]
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { chatFiles } from '../tiny_chat.mjs';
import { FIXTURES, MODEL, WORK, equal, finish, openPage, startServer, test } from './chromium.mjs';

// A model directory that loads in no time; its answers are words without sense.
const TINY = join(WORK, 'tiny');
mkdirSync(TINY, { recursive: true });
for (const file of chatFiles(readFileSync(join(FIXTURES, 'ops/models/llama.pte'))))
  writeFileSync(join(TINY, file.name), new Uint8Array(await file.arrayBuffer()));

let pace = 0; // ms that the server waits before each answer
const at = await startServer({ pace: () => pace });
const shot = (page, name) => page.screenshot({ path: join(WORK, `${name}.png`) });
const open = (path = '/', { init, ...options } = {}) => openPage(at(path), { viewport: { width: 1100, height: 760 }, permissions: ['clipboard-read', 'clipboard-write'], ...options }, init);
const text = (page, selector) => page.locator(selector).last().textContent();
const chatIsThere = (page) => page.waitForSelector('#chat:not([hidden])', { timeout: 180e3 });
const noticed = async (page) => (await page.waitForSelector('#notice:not([hidden])', { timeout: 60e3 }), text(page, '#notice-text'));
const answered = (page) => page.waitForSelector('#send:not([hidden])', { timeout: 240e3 });
const wordsCome = (page, count = 1) => page.waitForFunction(
  (count) => [...document.querySelectorAll('.assistant p')].at(-1)?.textContent.length >= count, count, { timeout: 240e3 });
const nothingLeft = (page) => page.waitForFunction(() => watched.buffers.size === 0, undefined, { timeout: 20e3 })
  .then(() => '', () => 'Buffers are left on the GPU. ');
const says = (actual, wanted, what) => (wanted.test(actual) ? '' : `${what} says: ${actual} `);
async function settings(page, temperature, tokens) {
  if (!(await page.locator('#temperature').isVisible())) await page.locator('summary').click();
  await page.locator('#temperature').fill(String(temperature));
  await page.locator('#length').fill(String(tokens));
}
async function ask(page, question) {
  await page.locator('#text').fill(question);
  await page.keyboard.press('Enter');
}

await test('by keyboard alone: load by address, ask, stop, copy, clear, settings, another model', async () => {
  const page = await open();
  const { keyboard } = page;
  const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.textContent);
  const tabTo = async (wanted) => {
    for (let i = 0; i < 20; ++i) {
      if ((await focused()) === wanted) return;
      await keyboard.press('Tab');
    }
    throw new Error(`The Tab key does not reach ${wanted}.`);
  };
  await shot(page, 'start');
  await tabTo('url');
  await keyboard.type(at('/work/tiny'));
  await keyboard.press('Enter');
  await chatIsThere(page);
  let wrong = equal(await text(page, '#model-name'), 'tiny', 'the name') + equal(await focused(), 'text', 'what has the focus');
  await keyboard.type('w1 w2');
  await keyboard.press('Shift+Enter');
  await keyboard.type('w3');
  await keyboard.press('Enter');
  await answered(page);
  wrong += equal(await text(page, '.user p'), 'w1 w2\nw3', 'the question') + says(await text(page, '.assistant .about span'), /^\d+ tokens, [\d.]+ tokens\/s, first after [\d.]+ s/, 'The line of figures');
  const answer = await text(page, '.assistant p');
  await page.locator('.assistant .about button').focus();
  await keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('.about button').textContent === 'Copied');
  wrong += equal(await page.evaluate(() => navigator.clipboard.readText()), answer, 'the clipboard');
  // Settings: the arrow keys move the temperature.
  await page.locator('summary').focus();
  await keyboard.press('Enter');
  await tabTo('temperature');
  for (let i = 0; i < 10; ++i) await keyboard.press('ArrowLeft');
  wrong += equal(await text(page, '#temperature-value'), '0', 'the temperature');
  await tabTo('length');
  await keyboard.press('Control+a');
  await keyboard.type('5');
  await tabTo('clear').catch(async () => page.locator('#clear').focus());
  await keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelectorAll('.message').length === 0);
  for (let i = 0; i < 2; ++i) {
    await ask(page, 'w7 w8');
    await answered(page);
    wrong += says(await text(page, '.assistant .about span'), /^5 tokens.*longest answer reached/, 'The line of figures');
    if (i === 0) await page.locator('#clear').press('Enter');
    if (i === 0) await page.waitForFunction(() => document.querySelectorAll('.message').length === 0);
    else wrong += equal((await page.locator('.message').count()), 2, 'the number of messages');
  }
  await page.locator('#unload').press('Enter');
  wrong += equal(await page.locator('#start').isVisible(), true, 'whether the start is shown');
  wrong += await nothingLeft(page);
  await page.context().close();
  return wrong;
});

await test('a directory is dropped, or chosen', async () => {
  const page = await open();
  const devtools = await page.context().newCDPSession(page);
  const { x, y, width, height } = await page.locator('#drop').boundingBox();
  const drag = (type) => devtools.send('Input.dispatchDragEvent', { type, x: x + width / 2, y: y + height / 2, data: { items: [], files: [TINY], dragOperationsMask: 1 } });
  await drag('dragEnter');
  await drag('dragOver');
  await page.waitForSelector('#drop.over');
  await shot(page, 'drop');
  await drag('drop');
  await chatIsThere(page);
  await settings(page, 0, 4);
  await ask(page, 'w1');
  await answered(page);
  const dropped = await text(page, '.assistant p');
  await page.locator('#unload').click();
  await page.locator('#files').setInputFiles(TINY);
  await chatIsThere(page);
  const name = await text(page, '#model-name');
  await ask(page, 'w1');
  await answered(page);
  const chosen = await text(page, '.assistant p');
  await page.context().close();
  return equal(chosen, dropped, 'the answer') + equal(name, 'tiny', 'the name') + (dropped.split(' ').length === 4 ? '' : `The answer is ${dropped}. `);
});

await test('what cannot be loaded says why; the next load works', async () => {
  const page = await open();
  let wrong = '';
  const load = async (address) => {
    await page.locator('#url').fill(address);
    await page.locator('#url-form button').click();
  };
  await load(at('/work/none/'));
  wrong += says(await noticed(page), /status 404/, 'The notice');
  await shot(page, 'error');
  await load(at('/fixtures/ops/models/llama.pte'));
  await page.waitForFunction(() => /tokenizer.json/.test(document.getElementById('notice-text').textContent), undefined, { timeout: 120e3 });
  await load('http://[');
  await page.waitForFunction(() => /address|URL/.test(document.getElementById('notice-text').textContent), undefined, { timeout: 20e3 });
  wrong += await nothingLeft(page);
  await load(at('/work/tiny/'));
  await chatIsThere(page);
  wrong += equal(await page.locator('#notice').isVisible(), false, 'whether a notice is shown');
  await page.context().close();
  return wrong;
});

await test('no WebGPU, no adapter, too little memory', async () => {
  let wrong = '';
  const none = await open('/?model=work/tiny/', { init: () => delete Navigator.prototype.gpu });
  wrong += says(await noticed(none), /no WebGPU/, 'The notice');
  await shot(none, 'no-webgpu');
  await none.context().close();

  const blocked = await open('/?model=work/tiny/', { init: () => (GPU.prototype.requestAdapter = async () => null) });
  wrong += says(await noticed(blocked), /no WebGPU adapter/, 'The notice');
  await blocked.context().close();

  // Every allocation fails until the page is told that there is room again.
  const small = await open('/?model=work/tiny/', { init: () => {
    window.isFull = true;
    const { pushErrorScope, popErrorScope } = GPUDevice.prototype;
    const scopes = [];
    GPUDevice.prototype.pushErrorScope = function (kind) { scopes.push(kind); return pushErrorScope.call(this, kind); };
    GPUDevice.prototype.popErrorScope = async function () {
      const kind = scopes.pop(), found = await popErrorScope.call(this);
      return window.isFull && kind === 'out-of-memory' ? new GPUOutOfMemoryError('Out of memory.') : found;
    };
  } });
  wrong += says(await noticed(small), /does not fit into the GPU's memory.*\d+ bytes/, 'The notice') + await nothingLeft(small);
  await shot(small, 'too-little-memory');
  await small.evaluate(() => (window.isFull = false));
  await small.locator('#notice-action').click();
  await chatIsThere(small);
  await small.context().close();
  return wrong;
});

await test('a lost device, while idle and in the midst of an answer: reload goes on with the conversation', async () => {
  const page = await open('/?model=work/tiny/');
  await chatIsThere(page);
  await settings(page, 0, 3);
  await ask(page, 'w1 w2');
  await answered(page);
  const first = await text(page, '.assistant p');
  let wrong = '';
  for (const inAnswer of [false, true]) {
    if (inAnswer) {
      await page.locator('#length').fill('40');
      await page.evaluate(() => new MutationObserver(() => watched.devices.at(-1).destroy())
        .observe(document.querySelector('#log'), { subtree: true, characterData: true, childList: true }));
      await ask(page, 'w3');
    } else await page.evaluate(() => watched.devices.at(-1).destroy());
    wrong += says(await noticed(page), /took the GPU away/, 'The notice');
    if (!inAnswer) await shot(page, 'lost');
    await page.locator('#notice-action').click();
    await page.waitForSelector('#loading:not([hidden])', { timeout: 5e3 }).catch(() => {});
    await chatIsThere(page);
    wrong += equal(await page.locator('.assistant p').first().textContent(), first, 'what was said') + equal(await page.locator('#notice').isVisible(), false, 'whether a notice is shown');
    if (inAnswer) break;
    await ask(page, 'w5');
    await answered(page);
    wrong += (await text(page, '.assistant p')).split(' ').length === 3 ? '' : 'There is no answer after the reload. ';
  }
  await page.locator('#unload').click();
  wrong += await nothingLeft(page);
  await page.context().close();
  return wrong;
});

await test('SmolLM2: progress, cancelling, streaming, stopping, dark mode, a phone', async () => {
  if (!existsSync(join(MODEL, 'model.pte'))) return 'There is no model; ./demo makes it.';
  const page = await open();
  pace = 400;
  await page.goto(at('/?model=model/'));
  await page.waitForFunction(() => / of /.test(document.getElementById('loading-text').textContent), undefined, { timeout: 60e3 });
  let wrong = says(await text(page, '#loading-text'), /^Loading weights: [\d.]+ MB of [\d.]+ MB, [\d.]+ MB\/s$/, 'The progress');
  await page.waitForFunction(() => document.getElementById('progress').value > 0.1, undefined, { timeout: 60e3 });
  await shot(page, 'loading');
  await page.locator('#cancel-load').click();
  wrong += equal(await page.locator('#start').isVisible(), true, 'whether the start is shown') + equal(await page.locator('#notice').isVisible(), false, 'whether a notice is shown') + await nothingLeft(page);
  pace = 0;
  await page.locator('#url').fill('model/');
  await page.keyboard.press('Enter');
  await chatIsThere(page);
  await settings(page, 0, 12);
  await ask(page, 'What is the capital of France?');
  await wordsCome(page);
  const streaming = await text(page, '.assistant p');
  await answered(page);
  const answer = await text(page, '.assistant p');
  console.log(`     ${answer} (${await text(page, '.assistant .about span')})`);
  wrong += says(answer, /Paris/, 'The answer') + (streaming.length < answer.length && answer.startsWith(streaming) ? '' : 'The answer does not stream. ');
  await shot(page, 'desktop');
  await page.locator('#theme').click();
  await shot(page, 'dark');
  await page.setViewportSize({ width: 390, height: 760 });
  await shot(page, 'phone');
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  wrong += width > 390 ? `A phone must scroll sideways: ${width} pixels. ` : '';
  await page.locator('#length').fill('200');
  for (const stop of ['#stop', 'Escape']) {
    await ask(page, 'Tell me a long story.');
    await wordsCome(page);
    await shot(page, 'phone-answering');
    await (stop === 'Escape' ? page.keyboard.press(stop) : page.locator(stop).click());
    await answered(page);
    wrong += says(await text(page, '.assistant .about span'), /stopped/, `After ${stop} the line of figures`);
  }
  await page.locator('#unload').click();
  wrong += await nothingLeft(page);
  await page.context().close();
  return wrong;
});

await finish();
