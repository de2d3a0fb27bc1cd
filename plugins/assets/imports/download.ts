import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { hasCode } from '../../../core/base/fault.ts';
import type { Intake, ReceivedFile } from '../../../core/ports/intake.ts';
import { broken, failed, tooLarge } from './faults.ts';
import type { Source } from './source.ts';
import { Anew, Transfer, type TransferOptions } from './transfer.ts';

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

/** Unpacked bytes up to which the ratio does not matter. */
const smallSize = 64 * 1_048_576;
/** How many times larger than its gzip a file may be: films hardly shrink. */
const mostRatio = 20;

/** Bytes, until there are none. */
type Bytes = AsyncIterable<Uint8Array>;

/**
 * What a body says by its `Content-Encoding`. None is asked for, but object stores send what they were given with whatever header
 * they were given for it (S3), and browsers and `curl --compressed` show the file behind it. Unpacked by the threads of zlib.
 * Faults: `import.failed` for other encodings, for what is no gzip, and for more than the limits allow.
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
