// Weights in the Origin Private File System: a file for each constant, named by the sha256 of its bytes, so that models
// share what they have in common. A file appears when it is complete, never in part.

export interface CachedConstant {
  source: number;
  offset: number;
  size: number;
  key: string;
}

const FOLDER = 'sconce-weights';
const KEPT_FREE = 64 << 20; // bytes of the quota that the cache leaves alone

interface Writing {
  constant: CachedConstant;
  stream: FileSystemWritableFileStream;
  written: number;
}

export class ConstantCache {
  private readonly files = new Map<string, File>(); // complete ones, opened once
  private writing?: Writing;
  private full = false;

  /** Nothing where the browser has no such file system, or refuses it (private windows). */
  static async open(constants: CachedConstant[], warn: (sentence: string) => void = () => {}): Promise<ConstantCache | undefined> {
    if (constants.length === 0 || !globalThis.navigator?.storage?.getDirectory) return undefined;
    try {
      const root = await navigator.storage.getDirectory();
      const cache = new ConstantCache(await root.getDirectoryHandle(FOLDER, { create: true }), constants, warn);
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
    private readonly folder: FileSystemDirectoryHandle, private readonly constants: CachedConstant[],
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

  private async file({ key, size }: CachedConstant): Promise<File | undefined> {
    const known = this.files.get(key);
    if (known) return known;
    try {
      const file = await (await this.folder.getFileHandle(key)).getFile();
      if (file.size !== size) return undefined;
      this.files.set(key, file);
      return file;
    } catch {
      return undefined;
    }
  }

  async read(source: number, offset: number, size: number): Promise<Uint8Array | undefined> {
    const constant = this.find(source, offset);
    const file = constant && (await this.file(constant));
    if (!file) return undefined;
    const begin = offset - constant!.offset;
    try {
      return new Uint8Array(await file.slice(begin, begin + size).arrayBuffer());
    } catch {
      return undefined; // evicted by another tab: the network has it
    }
  }

  /** Keeps a chunk. Constants are kept whole, so one whose chunks do not come in order is left out. */
  async write(source: number, offset: number, bytes: Uint8Array): Promise<void> {
    const constant = this.find(source, offset);
    if (!constant || this.full) return;
    try {
      if (this.writing?.constant !== constant) {
        await this.abandon();
        if (offset !== constant.offset) return;
        const handle = await this.folder.getFileHandle(constant.key, { create: true });
        this.writing = { constant, stream: await handle.createWritable(), written: 0 };
      }
      const { writing } = this;
      if (!writing || offset !== constant.offset + writing.written) return;
      await writing.stream.write(bytes as FileSystemWriteChunkType);
      writing.written += bytes.length;
      if (writing.written === constant.size) await this.finish();
    } catch (error) {
      await this.abandon();
      this.full = true;
      this.warn(`The browser's storage is full, so the rest of the weights is not kept: ${error}.`);
    }
  }

  async finish() {
    const { writing } = this;
    this.writing = undefined;
    if (!writing) return;
    if (writing.written === writing.constant.size) await writing.stream.close();
    else await writing.stream.abort().catch(() => {});
  }

  async abandon() {
    await this.writing?.stream.abort().catch(() => {});
    this.writing = undefined;
  }

  /** Removes the oldest constants of other models until this model's fit. */
  private async makeRoom() {
    const { quota = Infinity, usage = 0 } = await navigator.storage.estimate();
    const own = new Set(this.constants.map(({ key }) => key));
    const others: File[] = [];
    let missing = this.constants.reduce((sum, { size }) => sum + size, 0);
    for await (const handle of this.folder.values()) {
      if (handle.kind !== 'file') continue;
      const file = await (handle as FileSystemFileHandle).getFile();
      if (own.has(handle.name)) missing -= file.size;
      else others.push(file);
    }
    let room = quota - usage - KEPT_FREE;
    others.sort((a, b) => a.lastModified - b.lastModified);
    for (const file of others) {
      if (room >= missing) break;
      await this.folder.removeEntry(file.name).catch(() => {});
      room += file.size;
    }
    if (room >= missing) return;
    this.warn(`The weights need ${missing} bytes of the browser's storage, which has ${Math.max(0, Math.round(room))} left; a part is loaded again next time.`);
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
