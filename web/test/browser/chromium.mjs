// What the tests in headless Chromium share: the browser with its software adapter, servers of the package and the
// fixtures, pages, and a line for each test.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

import { serve } from '../../serve.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
export const FIXTURES = here('../../../tests/fixtures/');
/** Screenshots and files that tests make; nothing here is kept in git. */
export const WORK = here('../../../build/web/');
export const MODEL = here('../../../build/models/smollm2-135m-instruct/');
mkdirSync(WORK, { recursive: true });

const FLAGS = [
  '--headless=new', '--no-sandbox', '--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader', '--enable-precise-memory-info',
];
const IMPORTS = {
  '@huggingface/jinja': '/node_modules/@huggingface/jinja/dist/index.js',
  '@huggingface/tokenizers': '/node_modules/@huggingface/tokenizers/dist/tokenizers.mjs',
};
writeFileSync(join(WORK, 'blank.html'),
  `<!doctype html><title>Sconce test</title><script type="importmap">${JSON.stringify({ imports: IMPORTS })}</script>`);

const FOLDERS = {
  '/dist/': here('../../dist/'), '/node_modules/': here('../../node_modules/'), '/test/': here('../'), '/fixtures/': FIXTURES,
  '/goldens/': here('../../../build/goldens/'), '/work/': WORK, '/model/': MODEL, '/': here('../../page/dist/'),
};
const watch = readFileSync(here('watch.js'), 'utf8');

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', headless: false, args: FLAGS });
const servers = [];

/** A server of all folders, with the options of serve(), that waits `pace()` ms for each answer; gives the address of a path. */
export async function startServer({ pace = () => 0, ...options } = {}) {
  const server = await serve(FOLDERS, options);
  const [answer] = server.listeners('request');
  server.removeAllListeners('request').on('request', (...args) => (pace() > 0 ? setTimeout(answer, pace(), ...args) : answer(...args)));
  servers.push(server);
  return (path) => `http://localhost:${server.address().port}${path}`;
}
export const at = await startServer();

/**
 * A page in a profile of its own, with `watched` (watch.js) and after `init`. An error that nothing catches fails the test
 * that runs.
 */
export async function openPage(address, options = {}, init = undefined) {
  const context = await browser.newContext(options);
  await context.addInitScript(watch);
  if (init) await context.addInitScript(init);
  const page = await context.newPage();
  page.on('pageerror', (error) => uncaught.push(error));
  await page.goto(address.startsWith('/') ? at(address) : address);
  return page;
}
/** A page that is empty but for the import map: tests import /dist/index.js there. */
export const openBlank = (options, from = at) => openPage(from('/work/blank.html'), options);

/** A test's body that runs in a page of its own, with in_page.mjs and `argument`. */
export const inPage = (body, argument) => async () => {
  const page = await openBlank();
  const wrong = await page.evaluate(`(async () => (${body})(await import('/test/browser/in_page.mjs'), ${JSON.stringify(argument)}))()`);
  await page.context().close();
  return wrong;
};

const uncaught = [];
const filter = process.argv[2] ?? '';
let ran = 0, failures = 0;

/** Ten times what the longest test takes on two busy cores: beyond it something waits for ever. */
const PATIENCE_SECONDS = 900;

/** What `promise` gives, or after `seconds` an error that says `doing()`. */
export async function within(seconds, promise, doing) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Nothing came within ${seconds} s: ${doing()}.`)), seconds * 1000);
  });
  return await Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Runs `body`, which gives or throws what is wrong, unless the command's argument filters it out. */
export async function test(name, body) {
  if (!name.includes(filter)) return;
  const start = performance.now();
  let wrong = '';
  try {
    wrong = (await within(PATIENCE_SECONDS, body(), () => 'the test does not end')) ?? '';
  } catch (error) {
    wrong = String(error.stack ?? error);
  }
  for (const error of uncaught.splice(0)) wrong += ` Uncaught: ${error.stack ?? error}`;
  ++ran;
  if (wrong) ++failures;
  console.log(`${wrong ? 'FAIL' : 'ok  '} ${name} (${((performance.now() - start) / 1000).toFixed(1)} s) ${wrong}`);
}

export const equal = (actual, wanted, what) => (actual === wanted ? '' : `${what} is ${actual} instead of ${wanted}. `);

/** Ends the browser and the process. */
export async function finish() {
  await within(20, browser.close(), () => 'the browser does not close').catch((error) => console.log(`     ${error.message}`));
  for (const server of servers) server.close();
  console.log(`${ran - failures} of ${ran} tests pass.`);
  process.exit(failures > 0 || ran === 0 ? 1 : 0);
}
