// Weights in the Origin Private File System: a file for each constant, named by the sha256 of its bytes, so that models
// share what they have in common. A file appears when it is complete and its bytes are those of its name, never in part.
//
// A file holds the constant's bytes and then the sha256 of each block of them, so that reading a part can tell whether
// the disk gives what was written. The name's hash could tell that of the whole only.

import type { Core } from './core.js';

export interface CachedConstant {
  source: number;
  offset: number;
  size: number;
  key: string;
}

const FOLDER = 'sconce-weights';
const KEPT_FREE = 64 << 20; // bytes of the quota that the cache leaves alone

const BLOCK = 4 << 20, DIGEST = 32; // bytes

const blocksOf = (size: number) => Math.ceil(size / BLOCK);
const fileBytes = (size: number) => size + DIGEST * blocksOf(size);
const digestOf = async (bytes: Uint8Array) => new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as BufferSource));

const hexOf = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** A file that is being written. */
class Writing {
  written = 0; // bytes of the constant
  private readonly block: Uint8Array;
  private filled = 0;
  private readonly digests: Uint8Array[] = [];
  private readonly hash: number = 0; // the core's, of all bytes; the browser hashes faster, but no more than a block

  constructor(
    private readonly core: Core, readonly constant: CachedConstant, private readonly stream: FileSystemWritableFileStream,
  ) {
    this.block = new Uint8Array(Math.min(BLOCK, constant.size));
    if (constant.size > BLOCK) this.hash = core.call('sha256_create');
  }

  async add(bytes: Uint8Array) {
    for (let at = 0; at < bytes.length; ) {
      const piece = bytes.subarray(at, at + this.block.length - this.filled);
      this.block.set(piece, this.filled);
      this.filled += piece.length;
      this.written += piece.length;
      at += piece.length;
      if (this.filled === this.block.length || this.written === this.constant.size) await this.flush();
    }
  }

  private async flush() {
    const block = this.block.subarray(0, this.filled);
    this.digests.push(await digestOf(block));
    if (this.hash) this.addToHash(block);
    await this.stream.write(block as FileSystemWriteChunkType);
    this.filled = 0;
  }

  private addToHash(block: Uint8Array) {
    const slice = 1 << 18; // so that little of the core's memory is needed
    for (let at = 0; at < block.length; at += slice) {
      const part = block.subarray(at, at + slice);
      this.core.withBytes(part, (bytes) => this.core.call('sha256_add', this.hash, bytes, part.length));
    }
  }

  /** Whether the file is kept: its bytes must be those that its name promises to every model. */
  async close(): Promise<boolean> {
    const key = this.hash ? this.core.string(this.core.call('sha256_finish', this.hash)) : hexOf(this.digests[0]);
    if (key !== this.constant.key) return false;
    if (this.hash) this.core.free('sha256_delete', this.hash);
    for (const digest of this.digests) await this.stream.write(digest as FileSystemWriteChunkType);
    await this.stream.close();
    return true;
  }

  async abandon() {
    if (this.hash) this.core.free('sha256_delete', this.hash);
    await this.stream.abort().catch(() => {});
  }
}

/** A complete file. */
interface Kept {
  file: File;
  digests: Uint8Array;
}

export class ConstantCache {
  private readonly files = new Map<string, Kept>(); // opened once
  private writing?: Writing;
  private full = false;
  private others: File[] = []; // of other models, the newest first

  /** Nothing where the browser has no such file system, or refuses it (private windows). */
  static async open(core: Core, constants: CachedConstant[], warn: (sentence: string) => void = () => {}): Promise<ConstantCache | undefined> {
    if (constants.length === 0 || !globalThis.navigator?.storage?.getDirectory) return undefined;
    try {
      const root = await navigator.storage.getDirectory();
      const cache = new ConstantCache(core, await root.getDirectoryHandle(FOLDER, { create: true }), constants, warn);
      await cache.makeRoom();
      return cache;
    } catch (error) {
      warn(`Weights are not kept, because the browser refuses its storage: ${error}.`);
      return undefined;
    }
  }

  static isContentKey(key: string) {
    return /^[0-9a-f]{64}$/.test(key);
  }

  private constructor(
    private readonly core: Core, private readonly folder: FileSystemDirectoryHandle, private readonly constants: CachedConstant[],
    private readonly warn: (sentence: string) => void,
  ) {
    constants.sort((a, b) => a.source - b.source || a.offset - b.offset);
  }

  /** The constant that holds a range. */
  private find(source: number, offset: number): CachedConstant | undefined {
    let low = 0, high = this.constants.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const { source: s, offset: o } = this.constants[middle];
      if (s < source || (s === source && o <= offset)) low = middle + 1;
      else high = middle;
    }
    const found = this.constants[low - 1];
    return found?.source === source && offset < found.offset + found.size ? found : undefined;
  }

  private async kept({ key, size }: CachedConstant): Promise<Kept | undefined> {
    const known = this.files.get(key);
    if (known) return known;
    try {
      const file = await (await this.folder.getFileHandle(key)).getFile();
      if (file.size !== fileBytes(size)) return undefined;
      const found = { file, digests: new Uint8Array(await file.slice(size).arrayBuffer()) };
      this.files.set(key, found);
      return found;
    } catch {
      return undefined;
    }
  }

  /** A part of a constant, or nothing when it is not kept, or not as it was written. */
  async read(source: number, offset: number, size: number): Promise<Uint8Array | undefined> {
    const constant = this.find(source, offset);
    const kept = constant && (await this.kept(constant));
    if (!kept) return undefined;
    const begin = offset - constant.offset;
    const [first, last] = [Math.floor(begin / BLOCK), blocksOf(begin + size)];
    try {
      const bytes = new Uint8Array(await kept.file.slice(first * BLOCK, Math.min(last * BLOCK, constant.size)).arrayBuffer());
      for (let block = first; block < last; ++block) {
        const digest = await digestOf(bytes.subarray((block - first) * BLOCK, (block - first + 1) * BLOCK));
        if (digest.some((byte, i) => byte !== kept.digests[block * DIGEST + i])) throw new Error('The disk gives other bytes.');
      }
      return bytes.subarray(begin - first * BLOCK, begin - first * BLOCK + size);
    } catch {
      // Spoilt, or evicted by another tab: the network has it.
      this.files.delete(constant.key);
      await this.folder.removeEntry(constant.key).catch(() => {});
      return undefined;
    }
  }

  /** Keeps a chunk. Constants are kept whole, so one whose chunks do not come in order is left out. */
  async write(source: number, offset: number, bytes: Uint8Array): Promise<void> {
    const constant = this.find(source, offset);
    if (!constant || this.full) return;
    for (;;) {
      try {
        return await this.add(constant, offset, bytes);
      } catch (error) {
        await this.abandon();
        const isFull = (error as DOMException).name === 'QuotaExceededError';
        if (isFull && (await this.evict(fileBytes(constant.size)))) continue;
        this.full = true;
        const why = isFull ? "The browser's storage is full" : `The browser's storage fails (${error})`;
        return this.warn(`${why}: the weights need ${this.neededBytes} bytes of it, and a part of them is loaded again next time.`);
      }
    }
  }

  private async add(constant: CachedConstant, offset: number, bytes: Uint8Array): Promise<void> {
    if (this.writing?.constant !== constant) {
      await this.abandon();
      if (offset !== constant.offset) return;
      const handle = await this.folder.getFileHandle(constant.key, { create: true });
      this.writing = new Writing(this.core, constant, await handle.createWritable());
    }
    const { writing } = this;
    if (!writing || offset !== constant.offset + writing.written) return;
    await writing.add(bytes);
    if (writing.written < constant.size) return;
    if (await writing.close()) return void (this.writing = undefined);
    await this.abandon();
    this.warn(`The program stores a constant of ${constant.size} bytes under the sha256 ${constant.key}, which is not that of its bytes; it is not kept.`);
  }

  /** Drops what is not complete. */
  async abandon() {
    const { writing } = this;
    if (!writing) return;
    this.writing = undefined;
    await writing.abandon();
    // Opening it made an empty file, unless there was one already.
    const { key } = writing.constant;
    const file = await this.folder.getFileHandle(key).then((handle) => handle.getFile()).catch(() => undefined);
    if (file?.size === 0) await this.folder.removeEntry(key).catch(() => {});
  }

  private get neededBytes() {
    const sizes = new Map(this.constants.map(({ key, size }) => [key, fileBytes(size)]));
    return [...sizes.values()].reduce((sum, size) => sum + size, 0);
  }

  /**
   * Makes room for this model's constants. Browsers may claim to have more room than they give, so that pages cannot tell
   * them apart; then a write fails, and makes room itself.
   */
  private async makeRoom() {
    const { quota = Infinity, usage = 0 } = await navigator.storage.estimate();
    const sizes = new Map(this.constants.map(({ key, size }) => [key, fileBytes(size)]));
    let missing = this.neededBytes;
    for await (const handle of this.folder.values()) {
      if (handle.kind !== 'file') continue;
      const file = await (handle as FileSystemFileHandle).getFile();
      if (!sizes.has(handle.name)) this.others.push(file);
      else if (file.size === sizes.get(handle.name)) missing -= file.size;
    }
    this.others.sort((a, b) => b.lastModified - a.lastModified);
    await this.evict(missing - (quota - usage - KEPT_FREE));
  }

  /** Removes the oldest constants of other models until `bytes` are free; whether there were any. */
  private async evict(bytes: number): Promise<boolean> {
    let freed = 0;
    while (freed < bytes && this.others.length > 0) {
      const file = this.others.pop()!;
      await this.folder.removeEntry(file.name).catch(() => {}); // another tab may have been faster
      freed += file.size;
    }
    return freed > 0;
  }
}

/**
 * Removes all weights that this origin keeps. Models that are loaded go on; the next load fetches again. Rejects where
 * the browser refuses its storage.
 */
export async function clearCache(): Promise<void> {
  const root = await navigator.storage.getDirectory();
  await root.removeEntry(FOLDER, { recursive: true }).catch(() => {});
}
