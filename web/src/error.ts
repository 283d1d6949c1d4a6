// Errors are those of the C++ core: a stable code, and a full sentence with the values in it and what to do.

export type ErrorCode =
  | 'invalid_argument' | 'not_found' | 'unsupported' | 'corrupt_file' | 'io'
  | 'out_of_memory' | 'device_lost' | 'cancelled' | 'internal';

export class SconceError extends Error {
  constructor(readonly code: ErrorCode, message: string) {
    super(message);
    this.name = 'SconceError';
  }
}

/** Throws when the caller has given up. */
export function checkSignal(signal?: AbortSignal) {
  if (signal?.aborted) throw new SconceError('cancelled', 'Loading is cancelled by its caller.');
}
