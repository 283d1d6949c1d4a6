// Weights in the Origin Private File System: kept, mended, evicted; and a browser that has no room or refuses.
//
//   node test/browser/storage.mjs [name filter]
import { at, finish, inPage, openBlank, test } from './chromium.mjs';

// In the page: what is kept, and loads that tell where their bytes came from.
const withStore = (body) => inPage(`async (t) => {
  let device;
  const root = await navigator.storage.getDirectory();
  const folder = () => root.getDirectoryHandle('sconce-weights', { create: true });
  const entries = async () => {
    const list = [];
    for await (const [name, handle] of await folder()) list.push({ name, handle, size: (await handle.getFile()).size });
    return list.sort((a, b) => b.size - a.size);
  };
  const load = async (options = {}, url) => {
    const said = [];
    let bytes = 0, cached = 0;
    const progress = (p) => { if (p.stage === 'weights') [bytes, cached] = [p.done, p.cached]; };
    device ??= await t.openDevice();
    const model = await t.loadLlama({ device, cache: true, progress, warn: (sentence) => said.push(sentence), ...options }, url);
    const logits = await t.logitsOf(model);
    model.dispose();
    return { bytes, cached, said, logits };
  };
  const rewrite = async ({ handle }, change) => {
    const bytes = new Uint8Array(await (await handle.getFile()).arrayBuffer());
    const stream = await handle.createWritable();
    await stream.write(change(bytes));
    await stream.close();
  };
  return (${body})({ t, entries, load, rewrite });
}`);

await test('the second load comes from storage', withStore(async ({ t, entries, load }) => {
  const first = await load(), kept = await entries(), second = await load();
  const named = kept.every(({ name }) => /^[0-9a-f]{64}$/.test(name));
  await t.clearCache();
  const third = await load();
  return t.expect('bytes from storage at first', first.cached, 0) + (second.cached > 0.9 * second.bytes ? '' : `only ${second.cached} of ${second.bytes} bytes come from storage. `) +
    (kept.length > 5 && named ? '' : 'The files are not what is expected. ') + t.expect('bytes after clearCache()', third.cached, 0) +
    t.expect('logits', second.logits, first.logits) + t.expect('what is said', [...first.said, ...second.said], '');
}));

await test('files that are damaged or cut short are loaded again and mended', withStore(async ({ t, entries, load, rewrite }) => {
  const { logits, bytes } = await load();
  const whole = (await load()).cached;
  let wrong = '';
  const damages = {
    'a changed byte': (file) => ((file[file.length >> 2] ^= 1), file),
    'a changed checksum': (file) => ((file[file.length - 1] ^= 1), file),
    'zeros instead of the first half': (file) => file.fill(0, 0, file.length >> 1),
    'half a file': (file) => file.subarray(0, file.length >> 1),
    'an empty file': () => new Uint8Array(),
    'a longer file': (file) => Uint8Array.from([...file, 0]),
  };
  for (const [name, damage] of Object.entries(damages)) {
    for (const entry of (await entries()).slice(0, 3)) await rewrite(entry, damage);
    const damaged = await load();
    await load(); // what was found damaged in the midst of reading is written now
    const mended = await load();
    wrong += t.expect(`logits with ${name}`, damaged.logits, logits) + t.expect(`bytes from storage afterwards, with ${name}`, mended.cached, whole) +
      t.expect('bytes', damaged.bytes, bytes) + (damaged.cached < whole ? '' : `${name} goes unnoticed. `);
  }
  return wrong;
}));

await test('bytes under a name that is not theirs are not kept', withStore(async ({ t, entries, load }) => {
  const { logits } = await load();
  const [largest] = await entries();
  const content = new Uint8Array(await (await largest.handle.getFile()).arrayBuffer()).subarray(0, 64);
  await t.clearCache();
  const program = new Uint8Array(await (await fetch(t.LLAMA)).arrayBuffer());
  const place = program.findIndex((_, i) => content.every((byte, j) => program[i + j] === byte));
  if (place < 0) return 'The constant is not in the program.';
  program[place] ^= 1; // a program that lies about its contents
  const liar = await load({}, new Blob([program]));
  const names = (await entries()).map(({ name }) => name);
  const honest = await load();
  return (names.includes(largest.name) ? 'It is kept. ' : '') + (names.length > 3 ? '' : 'The others are not kept. ') +
    (/sha256/.test(liar.said[0]) ? '' : `It says ${liar.said}. `) + t.expect('logits of the honest program', honest.logits, logits);
}));

await test('aborting leaves no part of a file', withStore(async ({ t, entries, load }) => {
  for (const after of [0, 1, 3, 8]) {
    const stop = new AbortController();
    let chunks = 0;
    const code = await t.codeOf(load({ signal: stop.signal, progress: ({ stage }) => stage === 'weights' && chunks++ >= after && stop.abort() }));
    if (code !== 'cancelled') return `The load ends with ${code}.`;
    if ((await entries()).some(({ size }) => size === 0)) return `After ${after} chunks there is an empty file.`;
  }
  const { cached, logits } = await load();
  const again = await load();
  return (cached > 0 ? '' : 'Nothing is kept of what was complete. ') + t.expect('logits', again.logits, logits);
}));

await test('two loads at once', withStore(async ({ t, load }) => {
  const [one, two] = await Promise.all([load(), load()]);
  const three = await load();
  return t.expect('logits', [two.logits, three.logits], [one.logits, one.logits]) + (three.cached > 0.9 * three.bytes ? '' : 'They are not kept. ') + t.expect('what is said', [one.said, two.said], [[], []]);
}));

await test('a browser that refuses its storage', withStore(async ({ t, load }) => {
  navigator.storage.getDirectory = async () => { throw new DOMException('The tab is private.', 'SecurityError'); };
  const refused = await load();
  return (/refuses its storage/.test(refused.said[0]) ? '' : `It says ${refused.said}. `) + t.expect('bytes from storage', refused.cached, 0);
}));

// ---- room ----

/** A page whose storage has `room` bytes beyond what `fill` uses. Chromium enforces that, but claims to have more. */
async function withQuota(fill, room, body) {
  const page = await openBlank();
  const devtools = await page.context().newCDPSession(page);
  const evaluate = (body) => page.evaluate(`(async () => {
    const t = await import('/test/browser/in_page.mjs');
    const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle('sconce-weights', { create: true });
    const names = async () => { const list = []; for await (const name of folder.keys()) list.push(name); return list.sort(); };
    const load = async () => {
      const said = [];
      let cached = 0;
      window.device ??= await t.openDevice();
      const model = await t.loadLlama({ device, cache: true, warn: (sentence) => said.push(sentence), progress: (p) => (cached = Math.max(cached, p.cached)) });
      const logits = await t.logitsOf(model);
      model.dispose();
      return { said, cached, logits };
    };
    return (${body})({ t, folder, names, load });
  })()`);
  await evaluate(fill);
  const { usage } = await page.evaluate(() => navigator.storage.estimate());
  await devtools.send('Storage.overrideQuotaForOrigin', { origin: new URL(at('/')).origin, quotaSize: usage + room });
  const wrong = await evaluate(body);
  await page.context().close();
  return wrong;
}

const fillWithOthers = async ({ t, folder }) => {
  for (const digit of ['c', 'a', 'b']) {
    const handle = await folder.getFileHandle(digit.repeat(64), { create: true });
    const stream = await handle.createWritable();
    await stream.write(new Uint8Array(8 << 20));
    await stream.close();
    await t.rest(30);
  }
};

await test('the oldest weights of other models make room', () => withQuota(fillWithOthers, 20000, async ({ t, names, load }) => {
  const first = await load();
  const left = (await names()).filter((name) => /^(.)\1+$/.test(name)).map(([digit]) => digit);
  const second = await load();
  return t.expect('what is left of others', left, 'a,b') + (second.cached > 0 ? '' : 'The model is not kept. ') + t.expect('what is said', first.said, '');
}));

await test('no room: it says so, and loading goes on', () => withQuota(fillWithOthers, 30000 - (24 << 20), async ({ t, names, load, folder }) => {
  const first = await load();
  const left = await names();
  let empty = 0;
  for (const name of left) empty += (await (await folder.getFileHandle(name)).getFile()).size === 0;
  const said = first.said.join(' ');
  const plain = await t.loadLlama({ device });
  const logits = await t.logitsOf(plain);
  plain.dispose();
  return t.expect('logits', first.logits, logits) + (/storage is full: the weights need \d+ bytes/.test(said) ? '' : `It says ${said}. `) + t.expect('empty files', empty, 0) + (left.some((name) => /^(.)\1+$/.test(name)) ? 'Others are left. ' : '');
}));

await finish();
