// Every operator case against its goldens, in Node: node test/ops.mjs [name filter]
import { existsSync, openAsBlob, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import './node_device.mjs';
import * as sconce from '../dist/index.js';
import { openDevice } from '../dist/gpu.js';
import { runCase } from './cases.mjs';

const folder = fileURLToPath(new URL('../../tests/fixtures/ops/', import.meta.url));
const filter = process.argv[2] ?? '';
const names = readdirSync(folder, { recursive: true })
  .filter((name) => name.endsWith('.pte') && name.includes(filter))
  .map((name) => name.slice(0, -4))
  .sort();
const device = await openDevice();
let failures = 0;
for (const name of names) {
  const open = async (ending) => {
    const path = join(folder, name + ending);
    return existsSync(path) ? openAsBlob(path) : undefined;
  };
  const wrong = await runCase(sconce, device, open, 'reused');
  if (!wrong) continue;
  ++failures;
  console.log(`${name}: ${wrong}`);
}
const adapter = `${device.adapterInfo.vendor} ${device.adapterInfo.architecture} ${device.adapterInfo.description}`;
console.log(`${names.length - failures} of ${names.length} operator cases pass on ${adapter}.`);
process.exit(failures > 0 || names.length === 0 ? 1 : 0);
