// Weights on their way to the GPU: read ahead of need, from the cache or the source, in chunks that are dropped at once.

import { ConstantCache, type CachedConstant } from './cache.js';
import { Core } from './core.js';
import { checkSignal } from './error.js';
import { Convert } from './layout.js';
import type { LoadOptions } from './options.js';
import { Replayer, type Upload } from './replayer.js';
import type { Source } from './source.js';

const READ_AHEAD = 3; // chunks that are under way; a chunk has at most 16 MiB (ConstantTable::kChunkBytes)
const IN_FLIGHT_BYTES = 64 << 20; // given to the GPU's queue and not yet copied

interface Read {
  bytes: Uint8Array;
  cached: boolean;
}

/** Memory for chunks, used again and again: garbage collectors count it late. */
class ChunkMemory {
  private free: ArrayBuffer[] = [];

  take(size: number): Uint8Array {
    const fits = this.free.findIndex(({ byteLength }) => byteLength >= size);
    const memory = fits >= 0 ? this.free.splice(fits, 1)[0] : new ArrayBuffer(2 ** Math.ceil(Math.log2(Math.max(size, 4096))));
    return new Uint8Array(memory, 0, size);
  }
  give(chunk: Uint8Array) {
    this.free.push(chunk.buffer as ArrayBuffer);
    if (this.free.length <= READ_AHEAD) return;
    this.free.sort((a, b) => b.byteLength - a.byteLength).pop(); // the smallest
  }
}

export async function uploadWeights(
  replayer: Replayer, core: Core, step: number, sources: Source[], constants: CachedConstant[], options: LoadOptions,
): Promise<void> {
  const { signal, progress } = options;
  const cache = options.cache === false ? undefined : await ConstantCache.open(core, constants, options.warn);
  const stop = new AbortController(); // ends reads ahead when loading fails
  const abort = () => stop.abort();
  signal?.addEventListener('abort', abort);
  const memory = new ChunkMemory();
  let queue: Upload[] = [];
  let reads: Promise<Read>[] = [];
  let total = 0, done = 0, fromCache = 0, unmarked = 0;

  const read = async ({ source, offset, size }: Upload): Promise<Read> => {
    const kept = await cache?.read(source, offset, size);
    if (kept) return { bytes: kept, cached: true };
    return { bytes: await sources[source].read(offset, size, stop.signal, memory.take(size)), cached: false };
  };
  const readAhead = () => {
    while (reads.length < READ_AHEAD && queue.length > 0) {
      const next = read(queue.shift()!);
      next.catch(() => {}); // whoever awaits it is told
      reads.push(next);
    }
  };
  const supply = async (upload: Upload) => {
    checkSignal(signal);
    readAhead();
    const { bytes, cached } = await reads.shift()!;
    readAhead();
    if (!cached) await cache?.write(upload.source, upload.offset, bytes);
    write(replayer.gpu.device, core, upload, bytes);
    if (!cached) memory.give(bytes);
    done += bytes.length;
    if (cached) fromCache += bytes.length;
    progress?.({ stage: 'weights', done, total, cached: fromCache });
    if ((unmarked += bytes.length) < IN_FLIGHT_BYTES) return;
    unmarked = 0;
    await replayer.gpu.device.queue.onSubmittedWorkDone();
    replayer.gpu.check();
  };

  try {
    await replayer.allocate(step);
    await replayer.load(step, (uploads) => {
      queue = uploads;
      total = uploads.reduce((sum, { size }) => sum + size, 0);
    }, supply);
    await cache?.abandon();
    await replayer.gpu.device.queue.onSubmittedWorkDone();
  } catch (error) {
    await cache?.abandon();
    checkSignal(signal);
    throw error;
  } finally {
    stop.abort();
    signal?.removeEventListener('abort', abort);
  }
}

function write(device: GPUDevice, core: Core, { to, toOffset, convert }: Upload, bytes: Uint8Array) {
  if (convert === Convert.none) return writeWords(device, to, toOffset, bytes);
  core.withBytes(bytes, (at) => {
    core.checked('convert_upload', at, bytes.length, convert);
    writeWords(device, to, toOffset, core.bytes(at, bytes.length / 2)); // 8 bytes become 4
  });
}

/** WebGPU takes whole words only. */
function writeWords(device: GPUDevice, to: GPUBuffer, offset: number, bytes: Uint8Array) {
  const whole = bytes.length & ~3;
  if (whole > 0) device.queue.writeBuffer(to, offset, bytes as BufferSource, 0, whole);
  if (whole === bytes.length) return;
  const last = new Uint8Array(4);
  last.set(bytes.subarray(whole));
  device.queue.writeBuffer(to, offset + whole, last);
}
