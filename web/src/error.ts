// Errors are those of the C++ core: a stable code, and a full sentence with the values in it and what to do.

/**
 * What kind of error it is; the same words as the C++ API's ErrorCode.
 *
 * - `invalid_argument`: a shape, dtype, bound or order of calls; nothing has changed
 * - `not_found`: a file, or a method of the program
 * - `unsupported`: the browser, the device, or an operator of the program
 * - `corrupt_file`: the program is damaged, or is none
 * - `io`: the network or a file could not be read to its end
 * - `out_of_memory`: the GPU, or the module's memory
 * - `device_lost`: load the model again
 * - `cancelled`: by an AbortSignal or by `dispose()`
 * - `internal`: a defect of Sconce or of the driver; the message says what to report
 */
export type ErrorCode =
  | 'invalid_argument' | 'not_found' | 'unsupported' | 'corrupt_file' | 'io'
  | 'out_of_memory' | 'device_lost' | 'cancelled' | 'internal';

/** The only kind of error that the package throws on purpose. `message` is a full sentence for a person. */
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
