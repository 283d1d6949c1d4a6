// The C++ core as a WebAssembly module (src/wasm): its memory, its exported functions and the few imports it needs.
//
// Each loaded model has an instance of its own, so disposing a model frees all of its memory at once.

import { BytesViewAt } from './layout.js';
import { SconceError, type ErrorCode } from './error.js';

const FAILED = 0xffffffff;
type Exported = (...args: (number | bigint)[]) => number;

let compiled: Promise<WebAssembly.Module> | undefined;

async function compileFrom(url: URL): Promise<WebAssembly.Module> {
  const sentence = `The core's module ${url} cannot be loaded`;
  const response = await fetch(url).catch((error) => {
    throw new SconceError('io', `${sentence}: ${error}.`);
  });
  if (!response.ok) throw new SconceError('io', `${sentence}: the server answers with status ${response.status}.`);
  // Streaming needs the right type, which not every host sends.
  const isTyped = response.headers.get('Content-Type')?.split(';')[0].trim() === 'application/wasm';
  const module = isTyped ? WebAssembly.compileStreaming(response) : response.arrayBuffer().then((bytes) => WebAssembly.compile(bytes));
  return module.catch((error) => {
    throw new SconceError('io', `${sentence}: ${error}.`);
  });
}

async function compile(): Promise<WebAssembly.Module> {
  const url = new URL('./sconce.wasm', import.meta.url);
  if (url.protocol !== 'file:') return compileFrom(url);
  const files = 'node:fs/promises'; // kept from bundlers
  const { readFile } = await import(/* @vite-ignore */ files);
  return WebAssembly.compile(await readFile(url));
}

const dropped = () => new SconceError('cancelled', 'The model is disposed; load it again.');

export class Core {
  private functions: Record<string, Exported>;
  private memory?: WebAssembly.Memory;
  private text = new TextDecoder();

  static async create(): Promise<Core> {
    compiled ??= compile().catch((error) => {
      compiled = undefined;
      throw error;
    });
    const module = await compiled;
    let core: Core | undefined;
    const messages = new TextDecoder();
    const wasi = {
      environ_get: () => 0,
      environ_sizes_get: (count: number, size: number) => {
        core!.words.fill(0, count >> 2, (count >> 2) + 1).fill(0, size >> 2, (size >> 2) + 1);
        return 0;
      },
      fd_close: () => 0,
      fd_seek: () => 70, // ESPIPE: what it writes to is no file
      fd_write: (_file: number, pieces: number, count: number, written: number) => {
        let total = 0;
        for (let i = 0; i < count; ++i) {
          const [at, size] = core!.words.subarray((pieces >> 2) + 2 * i);
          console.error(messages.decode(core!.bytes(at, size)));
          total += size;
        }
        core!.words[written >> 2] = total;
        return 0;
      },
      proc_exit: (code: number) => {
        throw new SconceError('internal', `The core ends with status ${code}; this is a defect of Sconce.`);
      },
    };
    const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: wasi });
    core = new Core(instance);
    core.functions._initialize?.();
    return core;
  }

  private constructor(instance: WebAssembly.Instance) {
    this.functions = instance.exports as Record<string, Exported>;
    this.memory = instance.exports.memory as WebAssembly.Memory;
  }

  // Views of the memory are good until the next call, which may grow it.
  get words() { return new Uint32Array(this.buffer); }
  get view() { return new DataView(this.buffer); }
  bytes(at: number, size: number) { return new Uint8Array(this.buffer, at, size); }
  get memoryBytes() { return this.memory?.buffer.byteLength ?? 0; }
  private get buffer() {
    if (!this.memory) throw dropped();
    return this.memory.buffer;
  }

  /** Lets go of the instance with all of its memory, also where this object is still held. */
  drop() {
    this.functions = {};
    this.memory = undefined;
  }

  /** Calls sconce_<name>; addresses and counts come back without a sign. */
  call(name: string, ...args: (number | bigint)[]): number {
    if (!this.memory) throw dropped();
    return this.functions[`sconce_${name}`](...args) >>> 0;
  }
  /** Deletes what a handle stands for, which goes with the memory. */
  free(name: string, handle: number) {
    if (this.memory) this.call(name, handle);
  }
  /** The same for functions that may fail: throws what the core says. */
  checked(name: string, ...args: (number | bigint)[]): number {
    const result = this.call(name, ...args);
    if (result === FAILED) throw this.error();
    return result;
  }
  /** The same for functions that give a handle. */
  handle(name: string, ...args: (number | bigint)[]): number {
    const result = this.call(name, ...args);
    if (result === 0) throw this.error();
    return result;
  }
  private error() {
    const [code, ...sentence] = this.string(this.call('error')).split('\n');
    return new SconceError(code as ErrorCode, sentence.join('\n'));
  }

  string(at: number): string {
    const bytes = new Uint8Array(this.buffer, at);
    return this.text.decode(bytes.subarray(0, bytes.indexOf(0)));
  }

  /** Runs `use` with `size` bytes of the core's memory. */
  scratch<T>(size: number, use: (at: number) => T): T {
    const at = this.allocate(size);
    try {
      return use(at);
    } finally {
      this.release(at);
    }
  }
  allocate(size: number): number {
    const at = this.call('allocate', Math.max(size, 8));
    if (at === 0) throw new SconceError('out_of_memory', `The core's memory has no room for ${size} bytes.`);
    return at;
  }
  release(at: number) { this.free('release', at); }

  /** Runs `use` with a copy of `bytes` in the core's memory. */
  withBytes<T>(bytes: Uint8Array, use: (at: number) => T): T {
    return this.scratch(bytes.length, (at) => {
      this.bytes(at, bytes.length).set(bytes);
      return use(at);
    });
  }
  withString<T>(text: string, use: (at: number) => T): T {
    return this.withBytes(new TextEncoder().encode(text + '\0'), use);
  }
  /** Where an exported function left a list of things, as it wrote it to a BytesView. */
  list(name: string, handle: number): { at: number; size: number } {
    return this.scratch(BytesViewAt.byteLength, (view) => {
      this.call(name, handle, view);
      const words = this.words;
      return { at: words[(view + BytesViewAt.at) >> 2], size: words[(view + BytesViewAt.size) >> 2] };
    });
  }
}
