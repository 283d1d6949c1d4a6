// What a page may ask of loading, and what it is told meanwhile.

/** How far loading is. */
export interface Progress {
  /** `program`: the body of a server without ranges arrives; `weights`: they go to the GPU; `pipelines`: they compile. */
  stage: 'program' | 'weights' | 'pipelines';
  /** Bytes of the program or of weights, or a number of pipelines. */
  done: number;
  /** 0 when it is not known. */
  total: number;
  /** Of `done`, bytes that came from the browser's storage. */
  cached: number;
}

/** How a program is loaded. */
export interface LoadOptions {
  /** Stays the caller's; without one Sconce opens a device and destroys it with the model. Models may share one. */
  device?: GPUDevice;
  /** `.ptd` files with constants outside of the `.pte` file, in the program's order. */
  data?: (string | URL | Blob)[];
  /** Is told how far loading is, a few times a second or more often. */
  progress?: (progress: Progress) => void;
  /** Ends loading with the error `cancelled`; nothing is left on the GPU. */
  signal?: AbortSignal;
  /** Keep weights in the Origin Private File System (default: where there is one). */
  cache?: boolean;
  /** Is told what does not stop loading: that storage is full. */
  warn?: (sentence: string) => void;
  /** False turns graph rewrites off; answers agree within tolerance. */
  fuse?: boolean;
  /** True holds KV caches as f16 where the device has `shader-f16`: half their memory, keys and values rounded to 11 bits. */
  halfCaches?: boolean;
  /** False: pipelines are first used when a run needs them, so loading is shorter and the first runs are longer. */
  warmUp?: boolean;
}
