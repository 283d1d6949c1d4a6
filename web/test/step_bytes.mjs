// The module and the native core plan the same bytes: node test/step_bytes.mjs STEP_BYTES (the program of
// tests/step_bytes.cpp). Needs no GPU.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Core } from '../dist/core.js';
import { BindGroupAt, BufferAt, CommandAt, DeviceLimitsAt, PipelineAt, RangeViewAt, StepViewAt } from '../dist/layout.js';
import { withTensors } from '../dist/tensor.js';
import { parseCase } from './cases.mjs';

const folder = fileURLToPath(new URL('../../tests/fixtures/ops/', import.meta.url));

// record::Capabilities by default: the least of every WebGPU device.
const LEAST = {
  subgroupMinSize: 4, subgroupMaxSize: 128, maxWorkgroupsPerDimension: 65535, maxInvocationsPerWorkgroup: 256,
  maxWorkgroupStorageBytes: 16384, maxStorageBuffers: 8, maxStorageBindingBytes: 128 << 20, maxBufferBytes: 256 << 20,
};

function readProgram(core, files) {
  const sizes = new BigUint64Array(files.map(({ length }) => BigInt(length)));
  const reader = core.withBytes(new Uint8Array(sizes.buffer), (at) => core.call('reader_create', at, files.length));
  const range = core.allocate(RangeViewAt.byteLength);
  while (core.call('reader_next', reader, range)) {
    const { view } = core;
    const offset = Number(view.getBigUint64(range + RangeViewAt.offset, true));
    const size = Number(view.getBigUint64(range + RangeViewAt.size, true));
    const file = files[view.getUint32(range + RangeViewAt.source, true)];
    core.withBytes(file.subarray(offset, offset + size), (at) => core.checked('reader_supply', reader, at, size));
  }
  const limits = core.allocate(DeviceLimitsAt.byteLength);
  core.bytes(limits, DeviceLimitsAt.byteLength).fill(0);
  for (const [name, value] of Object.entries(LEAST)) core.view.setUint32(limits + DeviceLimitsAt[name], value, true);
  return core.handle('model_create', reader, limits, 1);
}

function digest(core, step) {
  const word = (member) => core.view.getUint32(step + member, true);
  const hash = createHash('sha256');
  const add = (at, count, bytes) => hash.update(core.bytes(word(StepViewAt[at]), word(StepViewAt[count]) * bytes));
  add('buffers', 'bufferCount', BufferAt.byteLength);
  add('pipelines', 'pipelineCount', PipelineAt.byteLength);
  add('bindGroups', 'bindGroupCount', BindGroupAt.byteLength);
  for (let i = 0; i < word(StepViewAt.commandCount); ++i) // without the padding at its end
    hash.update(core.bytes(word(StepViewAt.commands) + i * CommandAt.byteLength, CommandAt.convert + 4));
  add('params', 'paramsBytes', 1);
  add('hostBytes', 'hostByteCount', 1);
  return hash.digest('hex');
}

async function digests(name) {
  const path = join(folder, name);
  const files = ['.pte', '.0.ptd', '.1.ptd'].map((ending) => path + ending).filter(existsSync).map((file) => new Uint8Array(readFileSync(file)));
  const core = await Core.create();
  const model = readProgram(core, files);
  const list = [digest(core, core.call('model_load_step', model))];
  const session = core.withString('forward', (at) => core.handle('session_create', model, at));
  list.push(digest(core, core.call('session_warm_up', session)));
  const run = parseCase(new Uint8Array(readFileSync(`${path}.safetensors`))).runs.find(({ fails }) => !fails);
  if (run) {
    withTensors(core, run.inputs, (entries) => core.checked('session_start', session, entries, run.inputs.length));
    list.push(digest(core, core.call('session_commit', session)));
  }
  return list.join(' ');
}

const names = readdirSync(folder, { recursive: true })
  .filter((name) => name.endsWith('.pte') && !name.startsWith('rejected')).map((name) => name.slice(0, -4)).sort();
const native = execFileSync(process.argv[2], names.map((name) => join(folder, `${name}.pte`)), { encoding: 'utf8', maxBuffer: 1e8 }).split('\n');
let differ = 0;
for (const [i, name] of names.entries()) {
  const module = await digests(name).catch((error) => error.message);
  if (module === native[i]) continue;
  ++differ;
  console.log(`${name}: the module's Steps are ${module}, the native ones ${native[i]}`);
}
console.log(`The Steps of ${names.length - differ} of ${names.length} cases have the same bytes.`);
process.exit(differ > 0 ? 1 : 0);
