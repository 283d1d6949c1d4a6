// The package as npm gives it to others: packed, installed, and used by a fresh Vite app, whose page is the one in
// README.md, and by a script in Node.
//
//   node test/package.mjs MODEL_DIR
//
// What it installs beside the package are versions that web/package-lock.json names, so npm has them in its cache.
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const model = resolve(process.argv[2]);
const app = mkdtempSync(join(tmpdir(), 'sconce-app-'));
const put = (name, text) => writeFileSync(join(app, name), text);
const run = (command, ...args) => execFileSync(command, args, { cwd: app, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

let failures = 0;
async function test(name, body) {
  const start = performance.now();
  let wrong = '';
  try {
    wrong = (await body()) ?? '';
  } catch (error) {
    wrong = String(error.stdout ?? '') + String(error.stack ?? error);
  }
  console.log(`${wrong ? 'FAIL' : 'ok  '} ${name} (${((performance.now() - start) / 1000).toFixed(1)} s) ${wrong}`);
  if (wrong) ++failures;
}

// ---- packing and installing ----

const own = JSON.parse(readFileSync(here('../package.json'), 'utf8'));
const [packed] = JSON.parse(run('npm', 'pack', here('..'), '--json', '--pack-destination', app, '--ignore-scripts'));
const names = packed.files.map(({ path }) => path);
await test('what is packed', () => {
  const missing = ['package.json', 'README.md', 'dist/index.js', 'dist/index.d.ts', 'dist/sconce.wasm'].filter((name) => !names.includes(name));
  const surplus = names.filter((name) => !/^(dist\/\w+\.(js|d\.ts|wasm)|package\.json|README\.md)$/.test(name));
  return [...missing.map((name) => `${name} is missing`), ...surplus.map((name) => `${name} is in it`)].join(', ');
});
const { vite, typescript, webgpu } = own.devDependencies;
put('package.json', JSON.stringify({
  private: true, type: 'module', dependencies: { sconce: `file:${packed.filename}`, vite, typescript, webgpu },
}));
run('npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error');

// ---- a page ----

const [, page] = /```html\n([\s\S]*?)```/.exec(readFileSync(here('../../README.md'), 'utf8'));
put('index.html', page);
mkdirSync(join(app, 'public/models'), { recursive: true });
symlinkSync(model, join(app, 'public/models/smollm2'));

const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium', headless: false, args: ['--headless=new', '--no-sandbox', '--enable-unsafe-webgpu', '--use-webgpu-adapter=swiftshader'],
});
/** Opens what a Vite command serves, until the page shows `wanted`. */
async function shows(wanted, ...args) {
  const child = spawn(process.execPath, [join(app, 'node_modules/vite/bin/vite.js'), ...args, '--port', '0'], { cwd: app });
  const context = await browser.newContext();
  try {
    const address = await new Promise((done, failed) => {
      let said = '';
      const hear = (chunk) => {
        said += chunk;
        const found = /http:\/\/\S+:\d+\//.exec(said.replace(/\x1b\[\d+m/g, ''));
        if (found) done(found[0]);
      };
      child.stdout.on('data', hear);
      child.stderr.on('data', hear);
      child.on('exit', () => failed(new Error(`Vite says: ${said}`)));
    });
    const tab = await context.newPage();
    const wrong = new Promise((_, failed) => tab.on('pageerror', failed));
    wrong.catch(() => {});
    await tab.goto(address);
    const text = tab.waitForFunction((wanted) => document.getElementById('answer').textContent.includes(wanted), wanted, { timeout: 700e3 });
    await Promise.race([text, wrong]);
  } finally {
    await context.close();
    child.kill();
  }
}
await test("README.md's page in Vite's development server", () => shows('The capital'));
await test("README.md's page, built", () => {
  run(process.execPath, 'node_modules/vite/bin/vite.js', 'build', '--logLevel', 'warn');
  return shows('Paris', 'preview');
});
await browser.close();

// ---- types ----

await test('types', () => {
  put('typed.ts', `
    import { Sconce, SconceError, tensor, clearCache, type ChatOptions, type Progress, type Tensor } from 'sconce';
    export async function sum(device: GPUDevice, x: Tensor): Promise<number[]> {
      const model = await Sconce.load('add.pte', { device, progress: ({ done, total }: Progress) => console.log(done / total) });
      const [out] = await model.run({ x, y: tensor('f32', [2], [1, 2]) });
      const options: ChatOptions = { temperature: 0, seed: 3n };
      for await (const piece of (await model.chat()).send('Hello', options)) piece.toUpperCase();
      await clearCache();
      // @ts-expect-error There is no such dtype.
      tensor('f31', [1], [0]);
      return out.data instanceof Float32Array ? [...out.data] : [];
    }
    export const lost = (error: unknown) => error instanceof SconceError && error.code === 'device_lost';`);
  run(process.execPath, 'node_modules/typescript/bin/tsc', '--noEmit', '--strict', '--target', 'es2022', '--module', 'esnext', '--moduleResolution', 'bundler', '--lib', 'es2022,dom', 'typed.ts');
});

// ---- a script in Node ----

await test('Node', () => {
  cpSync(here('../../tests/fixtures/ops/elementwise/add.pte'), join(app, 'add.pte'));
  put('script.mjs', `
    import { openAsBlob } from 'node:fs';
    import { create, globals } from 'webgpu';
    import { Sconce, tensor } from 'sconce';

    Object.assign(globalThis, globals);
    Object.defineProperty(globalThis, 'navigator', { value: { gpu: create([]) }, configurable: true });
    const model = await Sconce.load(await openAsBlob('add.pte'));
    const [{ bound }] = model.methods[0].inputs;
    const count = bound.reduce((product, dim) => product * dim, 1);
    const [sum] = await model.run([1, 2].map((value) => tensor('f32', bound, Array(count).fill(value))));
    model.dispose();
    console.log(sum.data.length === count && sum.data.every((value) => value === 3) ? 'right' : sum);
    process.exit();`);
  const said = run(process.execPath, 'script.mjs').trim();
  return said === 'right' ? '' : said;
});

rmSync(app, { recursive: true });
process.exit(failures > 0 ? 1 : 0);
