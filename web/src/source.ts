// Where a program's bytes come from: a URL, read by HTTP ranges; or a file. Nothing holds more than what is asked for.

import { SconceError, checkSignal } from './error.js';

export interface Source {
  readonly size: number;
  /** The bytes [offset, offset + size), in `memory` if it is given: it has that size. */
  read(offset: number, size: number, signal?: AbortSignal, memory?: Uint8Array): Promise<Uint8Array>;
}

/** A file that the page holds; the browser keeps its bytes on disk. */
export class BlobSource implements Source {
  readonly size: number;
  constructor(private readonly blob: Blob) {
    this.size = blob.size;
  }
  /** By pieces that are awaited whole: a Blob's stream read into memory of one's own waits for ever now and then (Chromium 156). */
  async read(offset: number, size: number, signal?: AbortSignal, memory = new Uint8Array(size)): Promise<Uint8Array> {
    for (let done = 0; done < size; done += PIECE_BYTES) {
      checkSignal(signal);
      const begin = offset + done;
      const piece = await this.blob.slice(begin, Math.min(begin + PIECE_BYTES, offset + size)).arrayBuffer();
      if (piece.byteLength < Math.min(PIECE_BYTES, size - done))
        throw new SconceError('io', `The file ends at byte ${begin + piece.byteLength} of the ${this.size} that it had.`);
      memory.set(new Uint8Array(piece), done);
    }
    return memory;
  }
}

const RETRIES = 5;
/** Ends early when the caller gives up. */
const delay = (ms: number, signal?: AbortSignal) => new Promise<void>((resolve) => {
  const end = () => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', end);
    resolve();
  };
  const timer = setTimeout(end, ms);
  signal?.addEventListener('abort', end);
});

/** A file on a server that answers range requests. A dropped connection is taken up again where it broke. */
export class RangeSource implements Source {
  constructor(private readonly url: string, readonly size: number) {}

  async read(offset: number, size: number, signal?: AbortSignal, bytes = new Uint8Array(size)): Promise<Uint8Array> {
    let done = 0;
    for (let attempt = 0; done < size; ) {
      checkSignal(signal);
      const before = done;
      try {
        for await (const chunk of await this.request(offset + done, size - done, signal)) {
          if (chunk.length > size - done)
            throw new SconceError('io', `${this.url} gives more than the ${size} bytes that were asked for.`);
          bytes.set(chunk, done);
          done += chunk.length;
        }
        if (done < size) throw new Error('the connection ended early');
      } catch (error) {
        checkSignal(signal);
        if (error instanceof SconceError) throw error;
        attempt = done > before ? 1 : attempt + 1;
        if (attempt > RETRIES)
          throw new SconceError('io', `${this.url} cannot be read at byte ${offset + done} after ${RETRIES} attempts: ${error}.`);
        await delay(100 * 2 ** attempt, signal);
      }
    }
    return bytes;
  }

  private async request(offset: number, size: number, signal?: AbortSignal): Promise<AsyncIterable<Uint8Array<ArrayBuffer>>> {
    const headers = { Range: `bytes=${offset}-${offset + size - 1}` };
    const response = await fetch(this.url, { headers, signal });
    if (response.status === 206) {
      const begin = /^bytes (\d+)-/.exec(response.headers.get('Content-Range') ?? '')?.[1];
      const total = sizeOf(response);
      if (Number(begin) === offset && total === this.size) return chunks(response.body!);
      await response.body?.cancel();
      throw new SconceError('io', `${this.url} has changed while it was read: of ${this.size} bytes, those from ${offset} on were asked for, and it gives those from ${begin} on of ${total}. Load it again.`);
    }
    await response.body?.cancel();
    const sentence = `${this.url} answers a request for a range with status ${response.status}.`;
    if (response.status >= 500) throw new Error(sentence); // may pass
    throw new SconceError('io', sentence);
  }
}

/** Bytes of the whole file, as an answer with a range says; NaN when it does not, or may not be asked (CORS). */
const sizeOf = (response: Response) => Number(response.headers.get('Content-Range')?.split('/')[1] ?? NaN);

const PIECE_BYTES = 256 << 10;

/**
 * The pieces of a body; each is good until the next is asked for. Where the browser can, all lie in the same memory:
 * garbage for every byte of a model would wait for the collector, which lets much of it gather.
 */
async function* chunks(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncIterable<Uint8Array<ArrayBuffer>> {
  const reader = readerOf(body);
  try {
    for (;;) {
      const { done, value } = await reader.next();
      if (done) return;
      yield value!;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function readerOf(body: ReadableStream<Uint8Array<ArrayBuffer>>) {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = body.getReader({ mode: 'byob' });
  } catch {
    const plain = body.getReader(); // a stream that brings memory of its own
    return { next: () => plain.read(), cancel: () => plain.cancel() };
  }
  let memory = new Uint8Array(PIECE_BYTES);
  const next = async () => {
    const piece = await reader.read(memory);
    if (piece.value) memory = new Uint8Array(piece.value.buffer as ArrayBuffer); // reading takes it and gives it back
    return piece;
  };
  return { next, cancel: () => reader.cancel() };
}

/** Without ranges: the whole body, gathered in Blobs, which the browser keeps outside of the page's heap. */
async function wholeBody(response: Response, received: (bytes: number) => void): Promise<Source> {
  const pieces: Blob[] = [];
  let total = 0;
  for await (const chunk of chunks(response.body!)) {
    pieces.push(new Blob([chunk]));
    received((total += chunk.length));
  }
  return new BlobSource(new Blob(pieces));
}

export async function openSource(
  from: string | URL | Blob, signal?: AbortSignal, received: (bytes: number) => void = () => {},
): Promise<Source> {
  if (from instanceof Blob) return new BlobSource(from);
  const url = String(from);
  const request = (headers: Record<string, string>) => fetch(url, { headers, signal }).catch((error) => {
    checkSignal(signal);
    throw new SconceError('io', `${url} cannot be fetched: ${error}.`);
  });
  let response = await request({ Range: 'bytes=0-0' });
  if (response.status === 206) {
    const size = sizeOf(response);
    await response.body?.cancel();
    if (size > 0) return new RangeSource(url, size);
    response = await request({}); // the server does not let this page see how large the file is
  }
  if (!response.ok)
    throw new SconceError(response.status === 404 ? 'not_found' : 'io', `${url} answers with status ${response.status}.`);
  return wholeBody(response, received).catch((error) => {
    checkSignal(signal);
    throw new SconceError('io', `${url} cannot be read to its end: ${error}.`);
  });
}
