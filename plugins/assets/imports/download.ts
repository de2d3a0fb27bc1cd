import { hasCode } from '../../../core/base/fault.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { Intake, ReceivedFile } from '../../../core/ports/intake.ts';
import { failed, tooLarge } from './faults.ts';
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
  const ending = endingBy(options);
  const own = { ...options, signal: ending.signal };
  try {
    const transfer = await Transfer.begin(source, own);
    for (;;) {
      const file = await received(transfer, own);
      if (file) return file;
    }
  } finally {
    // Also what is still being asked for is not wanted any more.
    ending.end();
  }
}

/** Undefined: all of it comes again. */
async function received(transfer: Transfer, options: DownloadOptions): Promise<ReceivedFile | undefined> {
  const { intake, most, signal, progress } = options;
  const { length, encoding } = transfer.remote;
  let why: unknown;
  const bytes = async function* (): Bytes {
    for (let piece = await transfer.read(); piece !== undefined; piece = await transfer.read()) {
      if (length !== undefined) progress(Math.min(1, transfer.at / Math.max(1, length)));
      yield piece;
    }
  };
  const body = streamOf(unpacked(bytes(), { encoding }), {
    onError: (error) => {
      why = error;
    },
  });
  const expected = encoding === '' && length !== undefined && { expected: length };
  try {
    return await intake.receive(body, { most, signal, silence: longestStill, ...expected });
  } catch (error) {
    signal.throwIfAborted();
    if (why instanceof Anew) return undefined;
    // The intake cannot know why a body ended.
    if (why !== undefined) throw why;
    throw hasCode(error, 'intake.too_large') ? tooLarge(most) : error;
  }
}

/** Read only when somebody reads. */
function streamOf(bytes: Bytes, { onError }: { onError(error: unknown): void }): ReadableStream<Uint8Array> {
  const iterator = bytes[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await iterator.next();
          if (done) controller.close();
          else controller.enqueue(value);
        } catch (error) {
          onError(error);
          controller.error(error);
        }
      },
      cancel() {
        // It is not waited for: it may be waiting for bytes itself, which the signal ends.
        iterator.return?.()?.catch(() => {});
      },
    },
    { highWaterMark: 0 },
  );
}

/** Aborted by the signal, when the time is up, and at the end. */
function endingBy({ clock, signal, time }: { clock: Clock; signal: AbortSignal; time: number }) {
  const ending = new AbortController();
  const abort = () => ending.abort(signal.reason);
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  const late = () => ending.abort(failed(`it took longer than ${time / 1000} s (plugins.assets.importTime)`));
  const cancel = clock.at(clock.now() + time, late);
  return {
    signal: ending.signal,
    end() {
      cancel();
      signal.removeEventListener('abort', abort);
      ending.abort();
    },
  };
}
