import { hasCode } from '../../../core/base/fault.ts';
import type { Intake, ReceivedFile } from '../../../core/ports/intake.ts';
import { broken, failed, tooLarge } from './faults.ts';
import type { Source } from './source.ts';
import { Anew, Transfer, type TransferOptions } from './transfer.ts';
import { type Bytes, unpacked } from './unpack.ts';

/** How long nothing may come of a file, over all connections, ms. */
const longestStill = 2 * 60_000;

export interface DownloadOptions extends TransferOptions {
  readonly intake: Pick<Intake, 'receive'>;
  /** How long it may take, ms. */
  readonly time: number;
  /** How much of it is there, 0..1, often; never where its length is not known. */
  progress(fraction: number): void;
}

/**
 * Takes a file of another server in, as fast as it can be written. Faults `import.failed` and `import.broken`, those of the intake that
 * tell of this node, and the reason of the signal as it is. After any of them nothing is left: what the other side asks for by
 * `Retry-After` is not waited for here, where it would keep a place among the running, but before the next try.
 */
export async function download(source: Source, options: DownloadOptions): Promise<ReceivedFile> {
  const { clock, time } = options;
  const ending = new AbortController();
  const late = () => ending.abort(failed(`it took longer than ${time / 1000} s (plugins.assets.importTime)`));
  const cancel = clock.at(clock.now() + time, late);
  const own = { ...options, signal: AbortSignal.any([options.signal, ending.signal]) };
  try {
    const transfer = await Transfer.begin(source, own);
    for (;;) {
      const file = await received(transfer, own);
      if (file) return file;
    }
  } finally {
    cancel();
    // Also what is still being asked for is not wanted any more.
    ending.abort();
  }
}

/** Undefined: all of it comes again. */
async function received(transfer: Transfer, options: DownloadOptions): Promise<ReceivedFile | undefined> {
  const { intake, most, signal, progress, limits } = options;
  const { length, encoding } = transfer.remote;
  const bytes = async function* (): Bytes {
    for (let piece = await transfer.read(); piece !== undefined; piece = await transfer.read()) {
      if (length !== undefined) progress(Math.min(1, transfer.at / Math.max(1, length)));
      yield piece;
    }
  };
  const { importLook: window, importLeast } = limits;
  const least = { window, rate: (importLeast * 1000) / window };
  const expected = encoding === '' && length !== undefined && { expected: length };
  try {
    const body = Streams.from(unpacked(bytes(), { encoding }));
    return await intake.receive(body, { most, signal, least, silence: longestStill, ...expected });
  } catch (error) {
    signal.throwIfAborted();
    if (hasCode(error, 'intake.slow')) throw broken('it comes too slowly');
    if (hasCode(error, 'intake.too_large')) throw tooLarge(most);
    if (!hasCode(error, 'intake.broken')) throw error;
    // What ended the body.
    if (error.cause instanceof Anew) return undefined;
    throw error.cause;
  }
}

/** `ReadableStream.from` is a standard that lib.dom does not know yet. */
const Streams = ReadableStream as unknown as { from(bytes: Bytes): ReadableStream<Uint8Array> };
