import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { hasCode } from '../../../core/base/fault.ts';
import type { Intake, ReceivedFile } from '../../../core/ports/intake.ts';
import { broken, failed, tooLarge } from './faults.ts';
import type { Source } from './source.ts';
import { Anew, Transfer, type TransferOptions } from './transfer.ts';

/** Longest time without a byte of the file, over all connections, ms. */
const longestStill = 2 * 60_000;

export interface DownloadOptions extends TransferOptions {
  readonly intake: Pick<Intake, 'receive'>;
  /** Longest time for all of it, ms. */
  readonly time: number;
  /** Called often with the progress, 0..1; never if the length is unknown. */
  progress(fraction: number): void;
}

/**
 * Downloads a file of another server, as fast as it can be written. Throws Faults `import.failed` and `import.broken`, faults of the
 * intake that concern this node, and the reason of the signal; then nothing is left on disk. A `Retry-After` is waited for before
 * the next attempt of the task, because here it would keep a slot.
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
    // Also ends a request that is still running.
    ending.abort();
  }
}

/** Undefined: the file must be downloaded from the start. */
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
    // The error of the body itself.
    if (error.cause instanceof Anew) return undefined;
    throw error.cause;
  }
}

/** `ReadableStream.from` is a standard that lib.dom does not know yet. */
const Streams = ReadableStream as unknown as { from(bytes: Bytes): ReadableStream<Uint8Array> };

/** Unpacked bytes up to which the ratio does not matter. */
const smallSize = 64 * 1_048_576;
/** Largest ratio of file to gzip: films can hardly be compressed. */
const mostRatio = 20;

/** A source of bytes; undefined at the end. */
type Bytes = AsyncIterable<Uint8Array>;

/**
 * Unpacks a body according to its `Content-Encoding`. The import asks for no encoding, but S3 sends the header that an object was
 * stored with, and browsers unpack it. Runs in the threads of zlib. Fault `import.failed` for other encodings, for invalid gzip, and
 * beyond the limits.
 */
function unpacked(body: Bytes, { encoding }: { encoding: string }): Bytes {
  if (encoding === '') return body;
  if (encoding === 'gzip' || encoding === 'x-gzip') return gunzipped(body);
  throw failed('it comes with a Content-Encoding that was not asked for and is not gzip');
}

async function* gunzipped(body: Bytes): Bytes {
  let packed = 0;
  let size = 0;
  let wrong: unknown;
  const counted = async function* () {
    try {
      for await (const piece of body) {
        packed += piece.length;
        yield piece;
      }
    } catch (error) {
      wrong = error;
      throw error;
    }
  };
  const gunzip = createGunzip();
  const source = Readable.from(counted(), { objectMode: false });
  source.on('error', (error) => gunzip.destroy(error));
  try {
    for await (const piece of source.pipe(gunzip)) {
      size += piece.length;
      if (size > smallSize && size > packed * mostRatio)
        throw failed(`it comes as gzip, and unpacked it is more than ${mostRatio} times as large`);
      yield piece;
    }
  } catch (error) {
    if (wrong !== undefined) throw wrong;
    const code = (error as NodeJS.ErrnoException).code ?? '';
    throw code.startsWith('Z_') ? failed('it comes as gzip, and cannot be unpacked') : error;
  } finally {
    source.destroy();
    gunzip.destroy();
  }
}
