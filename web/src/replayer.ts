// Replays Steps (src/record/record.h) on a GPU: src/webgpu/replayer.cpp in TypeScript. Steps are read where they lie in
// the core's memory, at the offsets of layout.ts.

import { Core } from './core.js';
import { SconceError } from './error.js';
import { Gpu, type Pipeline } from './gpu.js';
import {
  BindGroupAt, BufferAt, BufferUse, CommandAt, CommandKind, kLiveBytes, kNone, kParamsBytes, PipelineAt, ReadBackAt, StepViewAt,
} from './layout.js';

const USES = Object.keys(BufferUse);

/** Element i of a member of StepView or Command, as an index into 32-bit words. */
const word = (at: number, offset: number) => (at + offset) >> 2;
/** A 64-bit member; sizes and offsets stay below 2^53. */
const wide = (words: Uint32Array, index: number) => words[index] + words[index + 1] * 2 ** 32;

interface Owned {
  buffer: GPUBuffer;
  size: number;
  own: boolean;
}

/** Uploads of a load Step: `supply` writes the bytes of a source to a buffer. */
export interface Upload {
  source: number;
  offset: number;
  size: number;
  convert: number;
  to: GPUBuffer;
  toOffset: number;
}
export type Supply = (upload: Upload) => Promise<void>;

export class Replayer {
  private buffers: (Owned | undefined)[] = [];
  private pipelines: Pipeline[] = [];
  private ready = 0; // pipelines [0, ready) are compiled
  private groups: (GPUBindGroup | undefined)[] = [];
  private groupBuffers: number[][] = [];
  private stale: number[] = []; // groups to make: new, or one of their buffers was replaced
  private params = kNone;
  private paramsGroup?: GPUBindGroup;
  private paramsAreNew = false;
  private staging: GPUBuffer[] = []; // free ones, to read back through
  private disposed = false;
  allocatedBytes = 0;

  /** `shared` owns the buffers that the tables call shared. */
  constructor(readonly gpu: Gpu, private readonly core: Core, private readonly shared?: Replayer) {}

  dispose() {
    this.disposed = true;
    for (const buffer of this.buffers) this.destroy(buffer);
    for (const buffer of this.staging) buffer.destroy();
    this.buffers = [];
    this.staging = [];
    this.groups = [];
  }

  // ---- GPU objects in step with the tables ----

  /** Starts to compile the pipelines that the tables name. */
  startPipelines(step: number) {
    const words = this.core.words;
    const count = words[word(step, StepViewAt.pipelineCount)];
    const wanted: number[][] = [];
    for (let i = this.pipelines.length; i < count; ++i) {
      const at = words[word(step, StepViewAt.pipelines)] + i * PipelineAt.byteLength;
      wanted.push([words[word(at, PipelineAt.kernel)], words[word(at, PipelineAt.variant)]]);
    }
    for (const [kernel, variant] of wanted) this.pipelines.push(this.gpu.pipeline(this.core, kernel, variant));
  }

  /** Makes what the tables have gained since the last call. After an error what was there before still works. */
  async prepare(step: number, progress?: (done: number, total: number) => void): Promise<void> {
    await this.allocate(step);
    for (; this.ready < this.pipelines.length; ++this.ready) {
      progress?.(this.ready, this.pipelines.length);
      await this.pipelines[this.ready].ready;
    }
  }

  /** The same without waiting for pipelines. */
  async allocate(step: number): Promise<void> {
    this.gpu.check();
    this.startPipelines(step);
    const words = this.core.words;
    this.params = words[word(step, StepViewAt.paramsBuffer)];
    for (let i = this.groups.length; i < words[word(step, StepViewAt.bindGroupCount)]; ++i) {
      const at = words[word(step, StepViewAt.bindGroups)] + i * BindGroupAt.byteLength;
      const first = word(at, BindGroupAt.buffers);
      this.groupBuffers[i] = [...words.subarray(first, first + words[word(at, BindGroupAt.count)])];
      this.groups.push(undefined);
      this.stale.push(i);
    }
    const changed = this.changedBuffers(step);
    if (changed.length > 0) await this.makeBuffers(changed);
    const noGroup = this.params !== kNone && !this.paramsGroup;
    if (this.stale.length > 0 || noGroup) await this.gpu.guarded(() => 'the bind groups of a Step', () => this.makeGroups(step));
  }

  private changedBuffers(step: number): { id: number; size: number; use: number; lender: number }[] {
    const words = this.core.words;
    const changed = [];
    let at = word(words[word(step, StepViewAt.buffers)], 0);
    const count = words[word(step, StepViewAt.bufferCount)];
    for (let id = 0; id < count; ++id, at += BufferAt.byteLength / 4) {
      const use = words[at + BufferAt.use / 4];
      const size = wide(words, at + BufferAt.size / 4);
      const known = this.buffers[id];
      if (use === BufferUse.retired ? known : !known || known.size < size)
        changed.push({ id, size, use, lender: words[at + BufferAt.shared / 4] });
    }
    return changed;
  }

  // All are made before the first replaces an old one, so that running out of memory changes nothing.
  private async makeBuffers(changed: ReturnType<Replayer['changedBuffers']>) {
    const made: [number, Owned | undefined][] = [];
    const total = changed.reduce((sum, { size, use }) => sum + (use === BufferUse.shared ? 0 : size), 0);
    const what = () => `${changed.length} buffers of ${total} bytes, with ${this.allocatedBytes} bytes allocated`;
    try {
      await this.gpu.guarded(what, () => {
        for (const { id, size, use, lender } of changed) made.push([id, this.makeBuffer(size, use, lender)]);
      });
      if (this.disposed) throw new SconceError('cancelled', 'What the buffers are for is disposed.');
    } catch (error) {
      for (const [, buffer] of made) if (buffer?.own) buffer.buffer.destroy();
      throw error;
    }
    for (const [id, buffer] of made) this.replace(id, buffer);
  }

  private makeBuffer(size: number, use: number, lender: number): Owned | undefined {
    if (use === BufferUse.retired) return undefined;
    if (use === BufferUse.shared) {
      const lent = this.shared?.buffers[lender];
      if (!lent) throw new SconceError('internal', `The model does not hold its buffer ${lender}, which a session shares.`);
      return { buffer: lent.buffer, size, own: false };
    }
    const { maxBufferSize } = this.gpu.device.limits;
    if (size > maxBufferSize)
      throw new SconceError('unsupported', `A buffer for ${USES[use]} needs ${size} bytes, but the device allows ${maxBufferSize}.`);
    const kind = use === BufferUse.params ? GPUBufferUsage.UNIFORM : GPUBufferUsage.STORAGE;
    const usage = kind | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC;
    return { buffer: this.gpu.device.createBuffer({ label: USES[use], size, usage }), size, own: true };
  }

  private replace(id: number, buffer: Owned | undefined) {
    this.destroy(this.buffers[id]);
    this.buffers[id] = buffer;
    if (buffer?.own) this.allocatedBytes += buffer.size;
    this.groupBuffers.forEach((buffers, group) => {
      if (!this.groups[group] || !buffers.includes(id)) return;
      this.groups[group] = undefined;
      this.stale.push(group);
    });
    if (id === this.params) this.paramsGroup = undefined;
  }

  private destroy(buffer: Owned | undefined) {
    if (!buffer?.own) return;
    buffer.buffer.destroy();
    this.allocatedBytes -= buffer.size;
  }

  private makeGroups(step: number) {
    const { device } = this.gpu;
    const words = this.core.words;
    const groups = words[word(step, StepViewAt.bindGroups)];
    for (const id of this.stale.splice(0)) {
      const buffers = this.groupBuffers[id].map((buffer) => this.buffers[buffer]);
      if (buffers.includes(undefined)) continue; // with a retired buffer no later Step uses the group
      const pipeline = this.pipelines[words[word(groups + id * BindGroupAt.byteLength, BindGroupAt.pipeline)]];
      const entries = buffers.map((owned, binding) => ({ binding, resource: { buffer: owned!.buffer, size: owned!.size } }));
      this.groups[id] = device.createBindGroup({ label: pipeline.label, layout: pipeline.layout, entries });
    }
    if (this.params === kNone || this.paramsGroup) return;
    const { buffer } = this.buffers[this.params]!;
    const entries = [
      { binding: 0, resource: { buffer, size: kParamsBytes } },
      { binding: 1, resource: { buffer, size: kLiveBytes } },
    ];
    this.paramsGroup = device.createBindGroup({ layout: this.gpu.paramsLayout, entries });
    this.paramsAreNew = true;
  }

  // ---- submitting ----

  /** Submits the phase of a Step; its read-backs are then on their way. */
  run(step: number): PendingRead {
    const encoder = this.encode(step);
    const words = this.core.words;
    const count = words[word(step, StepViewAt.readBackCount)];
    const list = word(words[word(step, StepViewAt.readBacks)], 0);
    const sizes: number[] = [];
    let total = 0;
    for (let i = 0, at = list; i < count; ++i, at += ReadBackAt.byteLength / 4)
      total += sizes[i] = wide(words, at + ReadBackAt.size / 4);
    if (total === 0) {
      this.gpu.device.queue.submit([encoder.finish()]);
      return new PendingRead(sizes);
    }
    const staging = this.takeStaging(total);
    let offset = 0;
    for (let i = 0, at = list; i < count; ++i, at += ReadBackAt.byteLength / 4) {
      const from = this.buffers[words[at + ReadBackAt.buffer / 4]]!.buffer;
      if (sizes[i] > 0) encoder.copyBufferToBuffer(from, 0, staging, offset, sizes[i]);
      offset += sizes[i];
    }
    this.gpu.device.queue.submit([encoder.finish()]);
    return new PendingRead(sizes, staging, (free) => {
      if (this.disposed) free.destroy();
      else this.staging.push(free);
    });
  }

  private takeStaging(size: number): GPUBuffer {
    const fits = this.staging.findIndex((buffer) => buffer.size >= size);
    if (fits >= 0) return this.staging.splice(fits, 1)[0];
    for (const small of this.staging.splice(0)) small.destroy();
    const rounded = 2 ** Math.ceil(Math.log2(Math.max(size, 256)));
    return this.gpu.device.createBuffer({ label: 'read back', size: rounded, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  }

  private writeParams(step: number) {
    if (this.params === kNone) return;
    const words = this.core.words;
    const begin = this.paramsAreNew ? 0 : words[word(step, StepViewAt.dirtyBegin)] & ~3;
    const end = this.paramsAreNew ? words[word(step, StepViewAt.paramsBytes)] : (words[word(step, StepViewAt.dirtyEnd)] + 3) & ~3;
    this.paramsAreNew = false;
    if (begin >= end) return;
    const bytes = this.core.bytes(words[word(step, StepViewAt.params)] + begin, end - begin);
    this.gpu.device.queue.writeBuffer(this.buffers[this.params]!.buffer, begin, bytes);
  }

  /** A Step without uploads and read-backs. */
  submit(step: number) {
    this.gpu.device.queue.submit([this.encode(step).finish()]);
  }

  private encode(step: number): GPUCommandEncoder {
    this.writeParams(step);
    const recorder = new Recorder(this.gpu.device, this.paramsGroup);
    const words = this.core.words;
    const count = words[word(step, StepViewAt.commandCount)];
    const hostBytes = words[word(step, StepViewAt.hostBytes)];
    let at = word(words[word(step, StepViewAt.commands)], 0);
    for (let i = 0; i < count; ++i, at += CommandAt.byteLength / 4) {
      const command = words.subarray(at, at + CommandAt.byteLength / 4);
      if (command[CommandAt.kind / 4] !== CommandKind.write) {
        this.record(command, recorder);
        continue;
      }
      const size = wide(command, CommandAt.size / 4);
      if (size === 0) continue;
      recorder.flush(); // a write reaches the GPU before the commands that are submitted after it
      const bytes = this.core.bytes(hostBytes + wide(command, CommandAt.fromOffset / 4), size);
      this.gpu.device.queue.writeBuffer(this.target(command), wide(command, CommandAt.toOffset / 4), bytes);
    }
    return recorder.finish();
  }

  private target(command: Uint32Array) {
    return this.buffers[command[CommandAt.to / 4]]!.buffer;
  }

  private record(command: Uint32Array, recorder: Recorder) {
    const toOffset = wide(command, CommandAt.toOffset / 4);
    const size = wide(command, CommandAt.size / 4);
    switch (command[CommandAt.kind / 4]) {
      case CommandKind.dispatch:
        recorder.dispatch(
          this.pipelines[command[CommandAt.pipeline / 4]].pipeline!, this.groups[command[CommandAt.bindGroup / 4]]!,
          command[CommandAt.paramsSlot / 4], command, CommandAt.grid / 4);
        break;
      case CommandKind.copy: {
        const from = this.buffers[command[CommandAt.from / 4]]!.buffer;
        const encoder = recorder.outsideOfPass();
        encoder.copyBufferToBuffer(from, wide(command, CommandAt.fromOffset / 4), this.target(command), toOffset, size);
        break;
      }
      case CommandKind.clear:
        recorder.outsideOfPass().clearBuffer(this.target(command), toOffset, size);
        break;
    }
  }

  /** The load Step: uploads come from `supply`, in order; `ahead` is told all of them first. */
  async load(step: number, ahead: (uploads: Upload[]) => void, supply: Supply): Promise<void> {
    this.writeParams(step);
    // Copied, because conversions may move the core's memory.
    const words = this.core.words;
    const first = word(words[word(step, StepViewAt.commands)], 0);
    const commands = words.slice(first, first + (words[word(step, StepViewAt.commandCount)] * CommandAt.byteLength) / 4);
    const list = Array.from({ length: words[word(step, StepViewAt.commandCount)] }, (_, i) =>
      commands.subarray((i * CommandAt.byteLength) / 4, ((i + 1) * CommandAt.byteLength) / 4));
    const uploads = new Map<Uint32Array, Upload>();
    for (const command of list)
      if (command[CommandAt.kind / 4] === CommandKind.upload)
        uploads.set(command, {
          source: command[CommandAt.from / 4],
          offset: wide(command, CommandAt.fromOffset / 4),
          size: wide(command, CommandAt.size / 4),
          convert: command[CommandAt.convert / 4],
          to: this.target(command),
          toOffset: wide(command, CommandAt.toOffset / 4),
        });
    ahead([...uploads.values()]);
    let recorder = new Recorder(this.gpu.device, this.paramsGroup);
    for (const command of list) {
      const upload = uploads.get(command);
      if (upload) {
        recorder.flush();
        await supply(upload);
      } else {
        await this.compiled(command);
        this.record(command, recorder);
      }
    }
    recorder.flush();
  }

  private async compiled(command: Uint32Array) {
    if (command[CommandAt.kind / 4] === CommandKind.dispatch) await this.pipelines[command[CommandAt.pipeline / 4]].ready;
  }
}

/** The read-backs of a phase, while the GPU may still be at work on it. */
export class PendingRead {
  private readonly mapped?: Promise<void>;

  /** `release` gets the staging buffer back. */
  constructor(
    private readonly sizes: number[], private readonly staging?: GPUBuffer,
    private readonly release: (staging: GPUBuffer) => void = () => {},
  ) {
    this.mapped = staging?.mapAsync(GPUMapMode.READ, 0, this.total);
    this.mapped?.catch(() => {}); // whoever takes it is told
  }

  private get total() {
    return this.sizes.reduce((sum, size) => sum + size, 0);
  }

  /** Waits for the bytes; they are good while `use` runs. To be called once, unless the run is given up. */
  async take<T>(use: (reads: Uint8Array[]) => T): Promise<T> {
    const { staging, sizes } = this;
    if (!staging) return use(sizes.map(() => new Uint8Array()));
    try {
      await this.mapped;
      const mapped = staging.getMappedRange(0, this.total);
      let begin = 0;
      const result = use(sizes.map((size) => new Uint8Array(mapped, (begin += size) - size, size)));
      staging.unmap();
      this.release(staging);
      return result;
    } catch (error) {
      staging.destroy();
      throw error;
    }
  }

  /** Nobody wants the bytes. */
  giveUp() {
    if (!this.staging) return;
    this.staging.unmap(); // ends the mapping that is pending
    this.release(this.staging);
  }
}

/** Consecutive dispatches share a compute pass; what is set already is not set again. */
class Recorder {
  private encoder?: GPUCommandEncoder;
  private pass?: GPUComputePassEncoder;
  private pipeline?: GPUComputePipeline;
  private group?: GPUBindGroup;
  private slot = kNone;

  constructor(private readonly device: GPUDevice, private readonly params?: GPUBindGroup) {}

  dispatch(pipeline: GPUComputePipeline, group: GPUBindGroup, slot: number, words: Uint32Array, grid: number) {
    if (!this.pass) {
      this.pass = this.outsideOfPass().beginComputePass();
      this.pipeline = this.group = undefined;
      this.slot = kNone;
    }
    if (pipeline !== this.pipeline) this.pass.setPipeline((this.pipeline = pipeline));
    if (group !== this.group) this.pass.setBindGroup(0, (this.group = group));
    if (slot !== this.slot) this.pass.setBindGroup(1, this.params!, [(this.slot = slot) * kParamsBytes]);
    this.pass.dispatchWorkgroups(words[grid], words[grid + 1], words[grid + 2]);
  }

  outsideOfPass(): GPUCommandEncoder {
    this.pass?.end();
    this.pass = undefined;
    return (this.encoder ??= this.device.createCommandEncoder());
  }

  finish(): GPUCommandEncoder {
    const encoder = this.outsideOfPass();
    this.encoder = undefined;
    return encoder;
  }

  flush() {
    if (this.encoder) this.device.queue.submit([this.finish().finish()]);
  }
}
