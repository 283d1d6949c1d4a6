// What the web package costs on this machine: sizes, loading, memory, and decode in Chromium against the native command on
// the same software adapter, in turns.
//
//   node test/bench.mjs MODEL_DIR [--rounds 3] [--tokens 17] [--native ../build/sconce] [--large LARGE.pte] [--json]
//
// --large loads another program, too, to show that the page's memory does not grow with it. --rounds 0 leaves decode out.
// Times are wall-clock, from where a person waits. Beside them stands the CPU time of all processes that take part,
// which other work on the machine disturbs less, and the machine's load (1 minute) before each turn.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { chromium } from 'playwright-core';

import { serve } from '../serve.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const { values: options, positionals: [modelDirectory] } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '3' }, tokens: { type: 'string', default: '17' },
    native: { type: 'string', default: here('../../build/sconce') }, large: { type: 'string' }, json: { type: 'boolean', default: false },
  },
});
if (!modelDirectory) {
  console.error('error: Give a model directory: node test/bench.mjs MODEL_DIR');
  process.exit(1);
}
const [rounds, tokens] = [Number(options.rounds), Number(options.tokens)];
const QUESTION = 'What is the capital of France?';
const BROWSER = '/usr/bin/chromium';
const SWIFTSHADER = '/usr/lib/chromium/vk_swiftshader_icd.json'; // the driver that this browser computes with
const FLAGS = ['--headless=new', '--no-sandbox', '--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader', '--enable-precise-memory-info'];
const load = () => Number(loadavg()[0].toFixed(1));
const note = (line) => options.json || console.log(line);

// ---- sizes ----

function sizes() {
  const of = (paths) => {
    const contents = paths.map((path) => readFileSync(path));
    const sum = (list) => list.reduce((total, bytes) => total + bytes.length, 0);
    return { bytes: sum(contents), gzip: sum(contents.map((bytes) => gzipSync(bytes, { level: 9 }))) };
  };
  const files = (folder, ending) => readdirSync(here(folder)).filter((name) => name.endsWith(ending)).map((name) => join(here(folder), name));
  return {
    module: of(files('../dist/', '.wasm')), // sconce.wasm
    library: of(files('../dist/', '.js')), // as npm has it, without its two dependencies
    page: of(files('../page/dist/assets/', '.js')), // the chat page, library and dependencies bundled
  };
}

// ---- CPU time ----

/** Seconds that a process and its descendants have computed; nothing where there is no /proc. */
function cpuSeconds(root) {
  if (!existsSync('/proc/self/stat')) return undefined;
  const parents = new Map(), used = new Map();
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    let stat;
    try {
      stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    } catch {
      continue; // it has ended
    }
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // from field 3, the state
    parents.set(Number(pid), Number(fields[1]));
    used.set(Number(pid), (Number(fields[11]) + Number(fields[12])) / 100); // utime, stime: 100 ticks a second
  }
  const belongs = (pid) => pid === root || (parents.has(pid) && belongs(parents.get(pid)));
  return [...used].reduce((sum, [pid, seconds]) => sum + (belongs(pid) ? seconds : 0), 0);
}

// ---- the native command ----

/** An answer's figures, as the command prints them when it ends. */
function nativeAnswer() {
  return new Promise((done, failed) => {
    const before = load();
    const child = spawn(options.native, ['generate', modelDirectory, QUESTION, '--greedy', '--max-new-tokens', String(tokens)], {
      env: { ...process.env, VK_ICD_FILENAMES: SWIFTSHADER },
    });
    let said = '', first, last;
    child.stdout.on('data', () => {
      last = cpuSeconds(child.pid);
      first ??= last;
    });
    child.stderr.on('data', (chunk) => (said += chunk));
    child.on('error', failed);
    child.on('close', () => {
      const [, firstToken] = /first token after ([\d.]+) s/.exec(said) ?? [];
      const [, rate] = /decode \d+ tokens, ([\d.]+) tokens\/s/.exec(said) ?? [];
      if (!rate) return failed(new Error(`${options.native} says: ${said}`));
      done({ load: before, firstTokenSeconds: Number(firstToken), tokensPerSecond: Number(rate), cpuSecondsPerToken: (last - first) / (tokens - 1) });
    });
  });
}

// ---- Chromium ----

const work = here('../../build/web/');
mkdirSync(work, { recursive: true });
writeFileSync(join(work, 'bench.html'), `<!doctype html><script type="importmap">{"imports":{
  "@huggingface/jinja":"/node_modules/@huggingface/jinja/dist/index.js",
  "@huggingface/tokenizers":"/node_modules/@huggingface/tokenizers/dist/tokenizers.mjs"}}</script>`);
const server = await serve({
  '/model/': resolve(modelDirectory), ...(options.large && { '/large/': dirname(resolve(options.large)) }), '/dist/': here('../dist/'), '/node_modules/': here('../node_modules/'), '/work/': work, '/': here('../page/dist/'),
});
const at = (path) => `http://localhost:${server.address().port}${path}`;
const process_ = await chromium.launchServer({ executablePath: BROWSER, headless: false, args: FLAGS });
const browser = await chromium.connect(process_.wsEndpoint());

/** The chat page from its address to the first word of an answer, as a person sees it. */
async function pageToFirstToken(context) {
  const page = await context.newPage();
  const before = load();
  const start = performance.now();
  await page.goto(at('/?model=model/'));
  await page.waitForSelector('#chat:not([hidden])', { timeout: 600e3 });
  const loaded = performance.now();
  await page.locator('summary').click();
  await page.locator('#temperature').fill('0');
  await page.locator('#length').fill('1');
  await page.locator('#text').fill(QUESTION);
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('.assistant p')?.textContent.length > 0, undefined, { timeout: 600e3 });
  const answered = performance.now();
  await page.close();
  return { load: before, loadedSeconds: (loaded - start) / 1000, firstTokenSeconds: (answered - start) / 1000 };
}

/** Loads the model in a blank page: peak of the JS heap (typed arrays included) above that of the page, and the module's memory. */
function loadMeasured(page, url) {
  return page.evaluate(async (url) => {
    const { Sconce } = await import('/dist/index.js');
    const base = performance.memory.usedJSHeapSize;
    let peak = 0, weights;
    const look = () => (peak = Math.max(peak, performance.memory.usedJSHeapSize - base));
    const timer = setInterval(look, 5);
    const progress = (step) => {
      look();
      if (step.stage === 'weights') weights = step;
    };
    const start = performance.now();
    window.model = await Sconce.load(url, { progress, cache: url === '/model/', warmUp: url === '/model/' });
    const seconds = (performance.now() - start) / 1000;
    clearInterval(timer);
    const { description, architecture, vendor } = window.model.device.adapterInfo;
    return {
      seconds, weightBytes: weights.done, fromStorage: weights.cached, heapPeakBytes: peak, moduleBytes: window.model.model.core.memoryBytes,
      adapter: description || `${vendor} ${architecture}`,
    };
  }, url);
}

async function browserAnswer(page, marks) {
  const before = load();
  marks.length = 0;
  const times = await page.evaluate(async ([question, maxNewTokens]) => {
    window.chat ??= await window.model.chat();
    await window.chat.clear();
    let first = true;
    for await (const _ of window.chat.send(question, { temperature: 0, maxNewTokens })) {
      if (first) window.mark();
      first = false;
    }
    await window.mark();
    return window.chat.times;
  }, [QUESTION, tokens]);
  if (times.newTokens !== tokens) throw new Error(`The answer has ${times.newTokens} tokens instead of ${tokens}.`);
  return {
    load: before, firstTokenSeconds: times.firstTokenSeconds, tokensPerSecond: times.decodeTokensPerSecond,
    cpuSecondsPerToken: (marks[1] - marks[0]) / (tokens - 1),
  };
}

// ---- all of it ----

const context = await browser.newContext();
const result = {
  date: new Date().toISOString().slice(0, 10), command: `node web/test/bench.mjs MODEL_DIR --rounds ${rounds} --tokens ${tokens}`,
  cpu: `${cpus().length} x ${cpus()[0].model}`, browser: `Chromium ${browser.version()}`, sizes: sizes(),
};
const kilo = ({ bytes, gzip }) => `${(bytes / 1e3).toFixed(0)} KB, ${(gzip / 1e3).toFixed(0)} KB with gzip`;
note(`${result.date}, ${result.cpu}, ${result.browser}`);
note(`sconce.wasm                   ${kilo(result.sizes.module)}`);
note(`JavaScript of the library     ${kilo(result.sizes.library)}`);
note(`JavaScript of the chat page   ${kilo(result.sizes.page)}`);

result.page = { cold: await pageToFirstToken(context), cached: await pageToFirstToken(context) };
for (const [name, { load, loadedSeconds, firstTokenSeconds }] of Object.entries(result.page))
  note(`page, ${name.padEnd(6)}                  loaded after ${loadedSeconds.toFixed(1)} s, first token after ${firstTokenSeconds.toFixed(1)} s (load ${load})`);

const fresh = await browser.newContext();
const marks = [];
result.loading = {};
async function loads(name, url) {
  const page = await fresh.newPage();
  await page.exposeFunction('mark', () => void marks.push(cpuSeconds(process_.process().pid)));
  await page.goto(at('/work/bench.html'));
  const found = (result.loading[name] = await loadMeasured(page, url));
  note(`loading, ${name.padEnd(6)}               ${found.seconds.toFixed(1)} s for ${(found.weightBytes / 1e6).toFixed(0)} MB of weights, JS heap peak ${(found.heapPeakBytes / 1e6).toFixed(1)} MB, wasm ${(found.moduleBytes / 1e6).toFixed(1)} MB`);
  return page;
}
if (options.large) await (await loads('large', `/large/${basename(options.large)}`)).close();
await (await loads('cold', '/model/')).close();
const page = await loads('cached', '/model/');
if (rounds > 0) await browserAnswer(page, marks); // compiles what loading left
if (rounds > 0) note(`decode of ${tokens} tokens on ${result.loading.cold.adapter}:`);
result.decode = { native: [], chromium: [] };
const hasNative = existsSync(options.native) && existsSync(join(dirname(SWIFTSHADER), 'libvk_swiftshader.so'));
for (let round = 0; round < rounds; ++round)
  for (const [name, answer] of [['native', nativeAnswer], ['chromium', () => browserAnswer(page, marks)]]) {
    if (name === 'native' && !hasNative) continue;
    const turn = await answer();
    result.decode[name].push(turn);
    note(`  ${name.padEnd(10)} ${turn.tokensPerSecond.toFixed(2)} tokens/s, ${turn.cpuSecondsPerToken.toFixed(3)} s of CPU a token, first token after ${turn.firstTokenSeconds.toFixed(1)} s (load ${turn.load})`);
  }
const median = (name, member) => result.decode[name].map((turn) => turn[member]).sort((a, b) => a - b)[Math.floor(result.decode[name].length / 2)];
if (hasNative && rounds > 0) {
  result.ratio = { tokensPerSecond: median('chromium', 'tokensPerSecond') / median('native', 'tokensPerSecond'), cpu: median('native', 'cpuSecondsPerToken') / median('chromium', 'cpuSecondsPerToken') };
  note(`Chromium decodes at ${result.ratio.tokensPerSecond.toFixed(2)} of the native rate; by CPU time ${result.ratio.cpu.toFixed(2)} (medians of ${rounds}).`);
}
if (options.json) console.log(JSON.stringify(result, null, 2));
await browser.close();
await process_.close();
server.close();
