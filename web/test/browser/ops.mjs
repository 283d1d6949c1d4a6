// Every operator case in Chromium: with all that the adapter offers, and with a device that asks for nothing (128 MiB
// bindings, 8 storage buffers, 16 KiB of workgroup memory, no feature); and lengths in changing order.
//
//   node test/browser/ops.mjs [offered | default | lengths]
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { FIXTURES, finish, openBlank, test, within } from './chromium.mjs';

const names = readdirSync(join(FIXTURES, 'ops'), { recursive: true })
  .filter((name) => name.endsWith('.pte')).map((name) => name.slice(0, -4)).sort();

const runCases = ([names, limits, sessions]) => (async () => {
  const sconce = await import('/dist/index.js');
  const { openDevice } = await import('/dist/gpu.js');
  const { runCase } = await import('/test/cases.mjs');
  const device = limits === 'offered' ? await openDevice() : await (await navigator.gpu.requestAdapter()).requestDevice();
  let wrong = '', passed = 0;
  for (const name of names) {
    globalThis.running = name;
    const open = async (ending) => {
      const response = await fetch(`/fixtures/ops/${name}${ending}`);
      return response.ok ? response.blob() : undefined;
    };
    const why = await runCase(sconce, device, open, sessions);
    if (why) wrong += `${name}: ${why}\n`;
    else ++passed;
  }
  const { maxStorageBuffersPerShaderStage: buffers, maxStorageBufferBindingSize: binding } = device.limits;
  device.destroy();
  return { wrong, passed, device: `${buffers} storage buffers, bindings of ${binding >> 20} MiB and the features ${[...device.features]}` };
})();

// A part of the cases in a page of its own; one that does not end says in which case.
const PART = 50, PART_SECONDS = 300;
async function runPart(part, limits, sessions) {
  let running = 'a page did not open';
  const page = await openBlank();
  const watch = setInterval(async () => (running = await page.evaluate('globalThis.running').catch(() => running)), 2000);
  try {
    return await within(PART_SECONDS, page.evaluate(runCases, [part, limits, sessions]), () => `the case ${running} does not end`);
  } finally {
    clearInterval(watch);
    await within(20, page.context().close(), () => 'its page does not close');
  }
}

for (const [limits, sessions] of [['offered', 'reused'], ['default', 'fresh']])
  await test(`${names.length} operator cases with the limits ${limits}, in ${sessions} sessions`, async () => {
    let wrong = '', passed = 0, device;
    for (let i = 0; i < names.length; i += PART) {
      const result = await runPart(names.slice(i, i + PART), limits, sessions);
      wrong += result.wrong;
      passed += result.passed;
      device = result.device;
    }
    console.log(`     ${passed} cases pass with ${device}`);
    return wrong;
  });

const inPage = (call) => async () => {
  const page = await openBlank();
  const wrong = await page.evaluate(`(async () => {
    const sconce = await import('/dist/index.js');
    const { openDevice } = await import('/dist/gpu.js');
    const sequences = await import('/test/sequences.mjs');
    const open = async (path) => (await fetch('/fixtures/' + path)).blob();
    return sequences.${call};
  })()`);
  await page.context().close();
  return wrong;
};
await test('lengths in changing order, each as a load of its own', inPage('runLengths(sconce, await openDevice(), open)'));
await test('lengths in random order with failing runs and resets', inPage('runSequences(sconce, await openDevice(), open, { sequences: 3, runs: 25 })'));

await finish();
