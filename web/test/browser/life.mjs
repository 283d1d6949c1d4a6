// Robustness in Chromium: models side by side, disposing and losing the device in the midst of work, hidden tabs, workers,
// and pages that load and dispose again and again.
//
//   node test/browser/life.mjs [name filter]
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { finish, inPage, openBlank, startServer, test } from './chromium.mjs';

// ---- side by side ----

await test('two models on one device answer in turns as they do alone', inPage(async (t) => {
  const device = await t.openDevice();
  const models = [await t.loadChat({ device }), await t.loadChat({ device })];
  const questions = ['w1 w2 w3', 'w9 w8'];
  const alone = [];
  for (const [i, model] of models.entries()) {
    const chat = await model.chat();
    alone.push(await t.say(chat, questions[i]));
    chat.dispose();
  }
  const order = [];
  const together = await Promise.all(models.map(async (model, i) =>
    t.say(await model.chat(), questions[i], t.SAMPLED, async () => void order.push(i))));
  // One goes while the other answers.
  const last = await models[1].chat();
  const after = await t.say(last, questions[1], t.SAMPLED, async () => models[0].dispose());
  models[1].dispose();
  const turns = order.filter((who, i) => i > 0 && who !== order[i - 1]).length;
  return t.expect('answers', together.join('|'), alone.join('|')) + t.expect('an answer while the other model goes', after, alone[1]) +
    (turns > 4 ? '' : `the answers alternate ${turns} times only. `) + t.expect('the device still works', await t.codeOf(device.queue.onSubmittedWorkDone()), 'fine') + await t.buffersLeft();
}));

await test('two models with devices of their own', inPage(async (t) => {
  const models = await Promise.all([t.loadLlama(), t.loadLlama()]);
  const [first, second] = await Promise.all(models.map(t.logitsOf));
  models[0].dispose();
  const third = await t.logitsOf(models[1]);
  models[1].dispose();
  return t.expect('logits', second, first) + t.expect('logits after the other is disposed', third, first) + await t.buffersLeft();
}));

await test('sessions of one model keep apart', inPage(async (t) => {
  const model = await t.loadLlama();
  const [one, two] = [await model.method(), await model.method()];
  const run = async (session, ids, position) => (await session.run([t.tensor('i64', [1, ids.length], ids), t.tensor('i64', [1], [position])]))[0].data.join();
  const wanted = [await run(one, [1, 2, 3], 0), await run(one, [4], 3)];
  await one.reset();
  const mixed = [];
  for (const [session, ids, position] of [[one, [1, 2, 3], 0], [two, [9, 9], 0], [one, [4], 3], [two, [5], 2]]) mixed.push(await run(session, ids, position));
  const busy = [one.run(t.someTokens()), one.run(t.someTokens()), two.run(t.someTokens()), one.reset()];
  const codes = await Promise.all(busy.map(t.codeOf));
  model.dispose();
  return t.expect('the first', mixed[0], wanted[0]) + t.expect('the second', mixed[2], wanted[1]) +
    t.expect('calls at once', codes, ['fine', 'invalid_argument', 'fine', 'invalid_argument']) + await t.buffersLeft();
}));

// ---- disposing ----

await test('dispose at any moment of loading, warming up, running, resetting', inPage(async (t) => {
  const device = await t.openDevice();
  const moments = [() => {}, () => Promise.resolve(), () => t.rest(), () => t.rest(3), () => t.rest(10)];
  let wrong = '';
  for (const [m, moment] of moments.entries())
    for (const whose of ['session', 'model'])
      for (const work of ['run', 'reset', 'method']) {
        const model = await t.loadLlama({ device, warmUp: true });
        const session = await model.method();
        const pending = t.codeOf(work === 'run' ? session.run(t.someTokens()) : work === 'reset' ? session.reset() : model.method());
        await moment();
        (whose === 'model' ? model : session).dispose();
        const code = await pending;
        const again = await t.codeOf(session.run(t.someTokens()));
        const fine = code === 'cancelled' || code === 'fine';
        if (!fine || again !== 'cancelled') wrong += `${whose} disposed at moment ${m} of ${work}: ${code}, then ${again}. `;
        if (m === 0 && code === 'fine' && !(whose === 'session' && work === 'method')) wrong += `${work} went on after ${whose}.dispose(). `;
        model.dispose();
        model.dispose(); // a second time does nothing
        session.dispose();
      }
  return wrong + await t.buffersLeft();
}));

await test('dispose in the midst of an answer', inPage(async (t) => {
  let wrong = '';
  for (const whose of ['chat', 'model'])
    for (const pieces of [1, 3]) {
      const model = await t.loadChat();
      const chat = await model.chat();
      let count = 0;
      const code = await t.codeOf(t.say(chat, 'w1 w2', t.SAMPLED, async () => {
        if (++count === pieces) (whose === 'chat' ? chat : model).dispose();
      }));
      wrong += t.expect(`${whose} disposed at piece ${pieces}`, code, 'cancelled') + t.expect('a further question', await t.codeOf(t.say(chat, 'w3')), 'cancelled');
      if (whose === 'chat') wrong += t.expect('another chat', await t.codeOf(model.chat().then((other) => t.say(other, 'w3'))), 'fine');
      chat.dispose();
      model.dispose();
    }
  return wrong + await t.buffersLeft();
}));

// ---- a lost device ----

await test('a device that is lost in the midst of a run or an answer; then a load works', inPage(async (t) => {
  let wrong = '';
  const reference = await t.loadChat();
  const [logits, answer] = [await t.logitsOf(reference), await t.say(await reference.chat(), 'w1 w2 w3')];
  reference.dispose();
  for (const own of [true, false]) {
    const device = own ? undefined : await t.openDevice();
    const model = await t.loadChat({ device });
    const chat = await model.chat(), session = await model.method();
    let count = 0;
    const code = await t.codeOf(t.say(chat, 'w1 w2 w3', t.SAMPLED, async () => void (++count === 3 && model.device.destroy())));
    wrong += t.expect('the answer', code, 'device_lost') + t.expect('pieces before', count >= 3, true);
    for (const [what, call] of [['a run', () => session.run(t.someTokens())], ['a reset', () => session.reset()], ['a method', () => model.method()], ['a question', () => t.say(chat, 'w1')], ['clearing', () => chat.clear()]])
      wrong += t.expect(what, await t.codeOf(call()), 'device_lost');
    model.dispose();
  }
  for (const moment of [() => {}, () => t.rest(), () => t.rest(5)]) {
    const model = await t.loadLlama();
    const session = await model.method();
    const pending = t.codeOf(session.run(t.someTokens()));
    await moment();
    model.device.destroy();
    const code = await pending;
    if (code !== 'device_lost' && code !== 'fine') wrong += `a run gives ${code}. `;
    wrong += t.expect('the next run', await t.codeOf(session.run(t.someTokens())), 'device_lost');
    model.dispose();
  }
  // While loading.
  const device = await t.openDevice();
  const loading = t.codeOf(t.loadLlama({ device, progress: ({ stage }) => stage === 'weights' && device.destroy() }));
  wrong += t.expect('loading', await loading, 'device_lost') + t.expect('loading on a lost device', await t.codeOf(t.loadLlama({ device })), 'device_lost');
  const again = await t.loadChat();
  wrong += t.expect('logits of a new load', await t.logitsOf(again), logits) + t.expect('its answer', await t.say(await again.chat(), 'w1 w2 w3'), answer);
  again.dispose();
  return wrong + await t.buffersLeft();
}));

await test('an error that the GPU reports outside of guarded calls fails the run; a reset mends it', inPage(async (t) => {
  const model = await t.loadLlama();
  const session = await model.method();
  const wanted = (await session.run(t.someTokens()))[0].data.join();
  const { queue } = model.device;
  queue.submit = function (commands) {
    delete queue.submit;
    model.device.createBuffer({ size: 16, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.STORAGE }); // no such buffer may be
    return queue.submit(commands);
  };
  const codes = [];
  for (let i = 0; i < 2; ++i) codes.push(await t.codeOf(session.run(t.someTokens())));
  await session.reset();
  const mended = (await session.run(t.someTokens()))[0].data.join();
  model.dispose();
  t.watched.buffers.clear(); // the one that is none
  return t.expect('the runs', codes, ['internal', 'internal']) + t.expect('logits after the reset', mended, wanted);
}));

// ---- hidden tabs and workers ----

// What a browser does to a hidden tab; headless Chromium hides none, so this takes away the same.
await test('a hidden tab loads and answers: no animation frames, timers once a second', inPage(async (t) => {
  Object.defineProperties(document, { visibilityState: { value: 'hidden' }, hidden: { value: true } });
  document.dispatchEvent(new Event('visibilitychange'));
  let timers = 0;
  const { setTimeout } = globalThis;
  globalThis.requestAnimationFrame = globalThis.requestIdleCallback = () => 0; // it never comes
  globalThis.setTimeout = (call, ms = 0, ...args) => (++timers, setTimeout(call, Math.max(ms, 1000), ...args));
  const model = await t.loadChat({ warmUp: true });
  const answer = await t.say(await model.chat(), 'w1 w2 w3');
  const logits = await t.logitsOf(model);
  globalThis.setTimeout = setTimeout;
  model.dispose();
  return t.expect('words', answer.trim().split(' ').length, 12) + t.expect('timers', timers, 0) + (logits ? '' : 'no logits. ') + await t.buffersLeft();
}));

await test('in a worker', async () => {
  // Import maps do not reach workers: this server names the two packages by their addresses, as a bundler would.
  const dist = fileURLToPath(new URL('../../dist/', import.meta.url));
  const address = await startServer({ onRequest: (request, response) => {
    if (request.url !== '/dist/chat.js') return false;
    const text = readFileSync(`${dist}chat.js`, 'utf8')
      .replace("'@huggingface/jinja'", "'/node_modules/@huggingface/jinja/dist/index.js'")
      .replace("'@huggingface/tokenizers'", "'/node_modules/@huggingface/tokenizers/dist/tokenizers.mjs'");
    response.writeHead(200, { 'Content-Type': 'text/javascript' }).end(text);
    return true;
  } });
  const page = await openBlank({}, address);
  const wrong = await page.evaluate(async () => {
    const t = await import('/test/browser/in_page.mjs');
    const worker = new Worker('/test/browser/worker.mjs', { type: 'module' });
    const [said, cached, left] = await new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = (event) => reject(new Error(event.message));
    });
    worker.terminate();
    const model = await t.loadChat();
    const here = [await t.say(await model.chat(), 'w1 w2 w3'), await t.logitsOf(model)].join('|');
    model.dispose();
    return t.expect('what the worker says', said, here) + (cached > 0 ? '' : 'The worker keeps no weights. ') + left;
  });
  await page.context().close();
  return wrong;
});

// ---- again and again ----

await test('50 loads and disposals, also failing and aborted ones, leave nothing', async () => {
  const page = await openBlank();
  const devtools = await page.context().newCDPSession(page);
  await page.evaluate(async () => {
    globalThis.memories = [];
    const { instantiate } = WebAssembly;
    WebAssembly.instantiate = async (...args) => {
      const instance = await instantiate.apply(WebAssembly, args);
      memories.push(new WeakRef(instance.exports.memory));
      return instance;
    };
    globalThis.t = await import('/test/browser/in_page.mjs');
    globalThis.kept = []; // what a page may forget to let go of
    const damaged = new Uint8Array(await (await fetch(t.LLAMA)).arrayBuffer()).subarray(0, 60000);
    const shared = await t.openDevice();
    globalThis.round = async (i) => {
      const stop = new AbortController();
      const device = i % 20 === 0 ? undefined : shared; // a new one compiles all kernels again
      const failing = await t.codeOf(t.loadLlama({ device }, new Blob([damaged])));
      const aborted = await t.codeOf(t.loadLlama({ device, signal: stop.signal, progress: () => stop.abort() }));
      const model = await (i % 5 === 0 ? t.loadChat({ device, warmUp: true }) : t.loadLlama({ device }));
      await model.run(t.someTokens());
      if (i % 5 === 0) await t.say(await model.chat(), 'w1');
      model.dispose();
      kept.push(model);
      return failing === 'corrupt_file' && aborted === 'cancelled' ? '' : `${failing}, ${aborted}`;
    };
  });
  const measure = async () => {
    for (let i = 0; i < 3; ++i) {
      await devtools.send('HeapProfiler.collectGarbage');
      await page.waitForTimeout(100);
    }
    const { usedSize, backingStorageSize = 0 } = await devtools.send('Runtime.getHeapUsage');
    const seen = await page.evaluate(() => ({
      buffers: watched.buffers.size, made: watched.made, instances: memories.length,
      memories: memories.filter((memory) => memory.deref()).length,
    }));
    return { heap: usedSize + backingStorageSize, ...seen };
  };
  const rounds = (from, to) => page.evaluate(async ([from, to]) => {
    let wrong = '';
    for (let i = from; i < to; ++i) wrong += await round(i);
    return wrong;
  }, [from, to]);
  const wrong = await rounds(0, 10); // code is compiled, caches fill
  const before = await measure();
  const worse = await rounds(10, 60);
  const after = await measure();
  const grown = after.heap - before.heap;
  console.log(`     ${after.made - before.made} buffers and ${after.instances - before.instances} modules came and went; the heap grew by ${(grown / 1024).toFixed(0)} KiB`);
  await page.context().close();
  return wrong + worse + (after.buffers ? `${after.buffers} buffers are left. ` : '') + (after.memories > 1 ? `${after.memories} modules' memories are left. ` : '') +
    (grown < 2 << 20 ? '' : `The heap grew by ${grown} bytes. `) + (after.made - before.made > 500 ? '' : 'Too few buffers were counted. ');
});

await finish();
