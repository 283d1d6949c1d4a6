// Loading a program and running it, as src/webgpu/model.cpp and session.cpp do natively.
/// <reference lib="esnext.disposable" preserve="true" />

import { ConstantCache, type CachedConstant } from './cache.js';
import { Core } from './core.js';
import { SconceError, checkSignal } from './error.js';
import { Gpu, openDevice } from './gpu.js';
import { ConstantViewAt, DeviceLimitsAt, RangeViewAt, TensorEntryAt } from './layout.js';
import type { LoadOptions } from './options.js';
import { Replayer, type PendingRead } from './replayer.js';
import { openSource, type Source } from './source.js';
import { readTensor, withTensors, type Dtype, type Tensor } from './tensor.js';
import { uploadWeights } from './upload.js';

/** An input or an output of a method. */
export interface ValueInfo {
  dtype: Dtype;
  /** The upper bound of each dim; a run's live shape has the same rank and no dim above it. */
  bound: number[];
  /** One integer (an i64 tensor of shape `[]`) instead of a tensor. */
  isSymInt: boolean;
}
/** What a method takes and gives, in order. */
export interface MethodInfo {
  name: string;
  inputs: ValueInfo[];
  outputs: ValueInfo[];
}
interface Description {
  methods: MethodInfo[];
  metadata: Record<string, number[]>;
  weightBytes: number;
}

/** A loaded program: its graph in the core, its weights on the GPU. `Sconce` has the files beside it, too. */
export class Model {
  /** The methods that can run. */
  readonly methods: MethodInfo[];
  /** What the program's constant methods give, by name: `get_max_seq_len` and so on. */
  readonly metadata: Record<string, number[]>;
  /** Of the weights as the GPU holds them. */
  readonly weightBytes: number;
  private readonly sessions = new Set<Session>();
  private disposed = false;

  private constructor(
    readonly gpu: Gpu, readonly core: Core, readonly handle: number, readonly replayer: Replayer,
    readonly warmUp: boolean, private readonly ownsDevice: boolean,
  ) {
    const description: Description = JSON.parse(core.string(core.call('model_describe', handle)));
    this.methods = description.methods;
    this.metadata = description.metadata;
    this.weightBytes = description.weightBytes;
  }

  /** Reads the graph, streams the weights to the GPU, makes the pipelines. Errors as for `Sconce.load`. */
  static async load(from: string | URL | Blob, options: LoadOptions = {}): Promise<Model> {
    const { signal } = options;
    checkSignal(signal);
    const device = options.device ?? (await openDevice());
    const gpu = Gpu.of(device);
    if (!options.device) gpu.watch();
    const pipelines = (done: number, total: number) => {
      checkSignal(signal);
      options.progress?.({ stage: 'pipelines', done, total, cached: 0 });
    };
    let replayer: Replayer | undefined;
    try {
      const core = await Core.create();
      replayer = new Replayer(gpu, core);
      const received = (done: number) => options.progress?.({ stage: 'program', done, total: 0, cached: 0 });
      const sources: Source[] = [];
      for (const file of [from, ...(options.data ?? [])]) sources.push(await openSource(file, signal, received));
      const handle = await read(core, gpu, sources, options);
      const step = core.call('model_load_step', handle);
      replayer.startPipelines(step); // they compile while weights upload
      await uploadWeights(replayer, core, step, sources, constantsOf(core, handle), options);
      await replayer.prepare(step, pipelines);
      checkSignal(signal);
      gpu.check();
      gpu.checkReports();
      return new Model(gpu, core, handle, replayer, options.warmUp ?? true, !options.device);
    } catch (error) {
      replayer?.dispose();
      const explained = error instanceof SconceError && error.code === 'cancelled' ? error : await gpu.explain(error);
      if (!options.device) device.destroy();
      throw explained;
    }
  }

  /**
   * State (KV caches) and activations of one method; sessions of a model share its weights. Errors: not_found for the
   * method, out_of_memory, device_lost, invalid_argument when the model is disposed.
   */
  async session(method = 'forward', kind: SessionKind = 'session_create'): Promise<Session> {
    if (this.disposed) throw new SconceError('invalid_argument', 'The model is disposed; load it again.');
    return Session.create(this, method, kind);
  }

  /** Of a session that `dispose()` is to free with the model. */
  remember(session: Session) {
    this.sessions.add(session);
  }
  /** Of a session that is disposed. */
  forget(session: Session) {
    this.sessions.delete(session);
  }

  /** Frees everything on the GPU and the core's memory; runs that are under way fail. */
  dispose() {
    if (this.disposed) return;
    this.disposed = true;
    for (const session of this.sessions) session.dispose();
    this.replayer.dispose();
    if (this.ownsDevice) this.gpu.device.destroy();
    this.core.drop();
  }
  [Symbol.dispose]() {
    this.dispose();
  }
}

/** Supplies what the reader asks for, then plans the model. */
async function read(core: Core, gpu: Gpu, sources: Source[], options: LoadOptions): Promise<number> {
  const sizes = new BigUint64Array(sources.map(({ size }) => BigInt(size)));
  const reader = core.withBytes(new Uint8Array(sizes.buffer), (at) => core.call('reader_create', at, sources.length));
  const range = core.allocate(RangeViewAt.byteLength);
  while (core.call('reader_next', reader, range)) {
    const view = core.view;
    const source = sources[view.getUint32(range + RangeViewAt.source, true)];
    const offset = Number(view.getBigUint64(range + RangeViewAt.offset, true));
    const size = Number(view.getBigUint64(range + RangeViewAt.size, true));
    const bytes = await source.read(offset, size, options.signal);
    core.withBytes(bytes, (at) => core.checked('reader_supply', reader, at, size));
  }
  core.release(range);
  const handle = core.scratch(DeviceLimitsAt.byteLength, (limits) => {
    gpu.writeLimits(core, limits);
    return core.handle('model_create', reader, limits, Number(options.fuse ?? true), Number(options.halfCaches ?? false));
  });
  core.call('reader_delete', reader);
  return handle;
}

/** Constants that the file stores under a key, which names their contents. */
function constantsOf(core: Core, handle: number): CachedConstant[] {
  const { at, size } = core.list('model_constants', handle);
  return Array.from({ length: size }, (_, i) => {
    const view = core.view, entry = at + i * ConstantViewAt.byteLength;
    return {
      source: view.getUint32(entry + ConstantViewAt.source, true),
      offset: Number(view.getBigUint64(entry + ConstantViewAt.offset, true)),
      size: Number(view.getBigUint64(entry + ConstantViewAt.size, true)),
      key: core.string(view.getUint32(entry + ConstantViewAt.key, true)),
    };
  }).filter(({ key }) => ConstantCache.isContentKey(key));
}

/** The core's function that makes a session: of the method as it is, or with the choice of a token appended. */
export type SessionKind = 'session_create' | 'generation_session';

/** Runs of one method, with state of their own; `Sconce.method()` makes it. */
export class Session {
  private readonly replayer: Replayer;
  private running = false;
  private disposed = false;

  private constructor(readonly model: Model, readonly method: MethodInfo, readonly handle: number) {
    this.replayer = new Replayer(model.gpu, model.core, model.replayer);
  }

  /** Of a method; pages use `Sconce.method()`. */
  static async create(model: Model, name: string, kind: SessionKind): Promise<Session> {
    const { core } = model;
    const handle = core.withString(name, (at) => core.handle(kind, model.handle, at));
    const session = new Session(model, model.methods.find((method) => method.name === name)!, handle);
    model.remember(session);
    try {
      if (model.warmUp) await session.aside('session_warm_up');
      await session.aside('session_reset');
    } catch (error) {
      session.dispose();
      throw error;
    }
    return session;
  }

  /** Submits a Step outside of runs. */
  private aside(name: string): Promise<void> {
    return this.alone(async () => {
      try {
        const step = this.model.core.call(name, this.handle);
        await this.replayer.prepare(step);
        this.check();
        this.replayer.submit(step);
      } catch (error) {
        throw this.disposed ? this.gone() : await this.model.gpu.explain(error);
      }
    });
  }

  /**
   * Runs the method at the live shapes of its inputs: a list, or an object whose values are in the method's order (its
   * names are for the reader). Dtypes are those of `method.inputs`; an i32 may be given for an i64. The outputs are copies,
   * in the order of `method.outputs`. One run at a time.
   *
   * Errors: invalid_argument for dtypes, shapes, bounds, values beyond 32 bits, a full KV cache, or a run that is pending;
   * these change nothing. After out_of_memory while the GPU works, or internal, `reset()` mends the session; after
   * device_lost load the model again. cancelled: the session was disposed.
   */
  async run(inputs: Tensor[] | Record<string, Tensor>): Promise<Tensor[]> {
    const list = Array.isArray(inputs) ? inputs : Object.values(inputs);
    const { core } = this.model;
    return this.alone(async () => {
      withTensors(core, list, (entries) => core.checked('session_start', this.handle, entries, list.length));
      await this.take(await this.submitRun(), (bytes) => this.finish(bytes));
      return this.outputs();
    });
  }

  /**
   * Plans and submits a run, unless `start` says 0, without ending the ones before it: for a caller that takes the
   * read-backs of several runs itself, oldest first. Where the host must read in the midst of the run, it waits up to there.
   */
  submitAhead(start: () => number): Promise<PendingRead | undefined> {
    return this.alone(async () => (start() === 0 ? undefined : this.submitRun()));
  }

  /** Waits for the bytes of a run; without them the session is broken. */
  async take<T>(reads: PendingRead, use: (bytes: Uint8Array[]) => T): Promise<T> {
    let taken = false;
    try {
      return await reads.take((bytes) => {
        this.check();
        this.model.gpu.check();
        this.model.gpu.checkReports();
        taken = true;
        return use(bytes);
      });
    } catch (error) {
      if (this.disposed) throw this.gone();
      throw taken ? error : await this.broken(error);
    }
  }

  /** One run at a time is planned; disposing waits for it with what belongs to the core. */
  private async alone<T>(body: () => Promise<T>): Promise<T> {
    if (this.running) throw new SconceError('invalid_argument', 'A run of this session is pending; await it before starting another or resetting.');
    this.check();
    this.model.gpu.check();
    this.running = true;
    try {
      return await body();
    } finally {
      this.running = false;
      if (this.disposed) this.free();
    }
  }

  /** Submits what the core has planned, up to its last phase. */
  private async submitRun(): Promise<PendingRead> {
    for (;;) {
      const reads = await this.submitPhase();
      if (this.disposed) {
        reads.giveUp();
        throw this.gone();
      }
      if (this.model.core.call('session_in_last_phase', this.handle)) return reads;
      await this.take(reads, (bytes) => this.finish(bytes));
    }
  }

  private async submitPhase(): Promise<PendingRead> {
    const { core, gpu } = this.model;
    try {
      await this.replayer.prepare(core.call('session_tables', this.handle));
      this.check();
    } catch (error) {
      core.call('session_abandon', this.handle);
      throw this.disposed ? this.gone() : await gpu.explain(error);
    }
    try {
      const step = core.call('session_commit', this.handle);
      await this.replayer.prepare(step); // the commit may have grown the parameter buffer
      this.check();
      return this.replayer.run(step);
    } catch (error) {
      throw this.disposed ? this.gone() : await this.broken(error);
    }
  }

  /** Says on every later call why the session cannot go on. */
  private async broken(error: unknown): Promise<SconceError> {
    const { core, gpu } = this.model;
    const explained = await gpu.explain(error);
    if (this.disposed) return this.gone();
    const lost = Number(explained.code === 'device_lost');
    core.withString(explained.message, (at) => core.call('session_fail', this.handle, at, lost));
    return explained;
  }

  private finish(reads: Uint8Array[]): boolean {
    const { core } = this.model;
    const views = 8 * reads.length;
    const total = reads.reduce((sum, bytes) => sum + bytes.length + 16, views + 16);
    return core.scratch(total, (list) => {
      let at = (list + views + 15) & ~15;
      reads.forEach((bytes, i) => {
        core.bytes(at, bytes.length).set(bytes);
        core.words.set([at, bytes.length], (list >> 2) + 2 * i);
        at += (bytes.length + 15) & ~15;
      });
      return core.checked('session_finish_phase', this.handle, list, reads.length) === 1;
    });
  }

  private outputs(): Tensor[] {
    const { core } = this.model;
    return core.scratch(TensorEntryAt.byteLength, (entry) => {
      const outputs: Tensor[] = [];
      while (core.call('session_output', this.handle, outputs.length, entry)) outputs.push(readTensor(core, entry));
      return outputs;
    });
  }

  /** Puts state (KV caches) back to what the program stores; mends a session that an error broke. */
  reset(): Promise<void> {
    return this.aside('session_reset');
  }

  /** Whether `dispose()` was called, here or on the model. */
  get isDisposed() {
    return this.disposed;
  }
  /** Bytes on the GPU that this session holds, without the model's weights. */
  get deviceBytes() {
    return this.replayer.allocatedBytes;
  }

  private gone() {
    return new SconceError('cancelled', 'The session is disposed.');
  }
  private check() {
    if (this.disposed) throw this.gone();
  }

  /** Frees the session's buffers at once; a run that is under way fails with `cancelled`. */
  dispose() {
    if (this.disposed) return;
    this.disposed = true;
    this.replayer.dispose();
    this.model.forget(this);
    if (!this.running) this.free();
  }
  private free() {
    this.model.core.free('session_delete', this.handle);
  }
  [Symbol.dispose]() {
    this.dispose();
  }
}

