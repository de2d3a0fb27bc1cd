import { Fault } from '../../../../core/base/fault.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import type { InspectedFile, Inspector } from '../../../../core/ports/inspector.ts';
import { ownThread } from '../../../base/own-thread.ts';
import { Semaphore } from '../../../base/semaphore.ts';
import type { Inspected } from './inspect-file.ts';
import type { FromWorker, ToWorker } from './inspect-worker.ts';

/** Each holds the index of its file in memory until what playback needs is stored. */
export const maxRunning = 2;
export const maxWaiting = 1000;
/** ms that a thread may compute without a word. */
export const maxSilence = 60_000;

/** Inspects each file in a thread of its own. Pieces of a file that lies elsewhere are read here and handed over. */
export function inspector(options: {
  readonly clock: Clock;
  /** Another program, for tests. */
  readonly worker?: URL;
}): Inspector {
  const { clock, worker = new URL('./inspect-worker.ts', import.meta.url) } = options;
  const slots = new Semaphore({ running: maxRunning, waiting: maxWaiting });
  const closing = new AbortController();
  return {
    async inspect(file, { isConverted = false, keep, ...asked }) {
      const signal = AbortSignal.any([asked.signal, closing.signal]);
      const leave = await slots.take(signal);
      if (leave === 'full') throw unavailable(`${maxWaiting} files are waiting already`);
      try {
        const order = { isConverted, isPlayed: keep !== undefined };
        const { inspection, playback } = await inspectInThread(file, { clock, worker, signal, order });
        if (playback) await keep?.(playback);
        return inspection;
      } finally {
        leave();
      }
    },
    async close() {
      closing.abort(unavailable('the server is stopping'));
    },
  };
}

async function inspectInThread(
  file: InspectedFile,
  options: {
    clock: Clock;
    worker: URL;
    signal: AbortSignal;
    order: { isConverted: boolean; isPlayed: boolean };
  },
): Promise<Inspected> {
  const { clock, worker, signal, order } = options;
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Inspected>();
  let stopWatch = () => {};
  let isOver = false;
  const fail = (reason: string) => reject(unavailable(reason));
  const watch = () => {
    stopWatch();
    if (isOver) return;
    stopWatch = clock.at(clock.now() + maxSilence, () => fail(`its thread was silent for ${maxSilence} ms`));
  };
  const read = async ({ from, to }: { from: number; to: number }) => {
    if ('path' in file) return;
    // The thread is not to blame for a slow store.
    stopWatch();
    try {
      thread.send({ bytes: await file.read(from, to) });
      watch();
    } catch (error) {
      reject(error);
    }
  };
  const thread = ownThread<ToWorker, FromWorker>(worker, {
    ended: fail,
    hear(message) {
      watch();
      if ('read' in message) void read(message.read);
      else if ('inspection' in message) resolve(message);
      else if ('failed' in message) reject(new Error(`the file cannot be inspected: ${message.failed}`));
    },
  });
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort);
  try {
    watch();
    thread.send({ begin: { ...('path' in file ? { path: file.path } : { size: file.size }), ...order } });
    return await promise;
  } finally {
    isOver = true;
    stopWatch();
    signal.removeEventListener('abort', abort);
    thread.end();
  }
}

function unavailable(why: string): Fault {
  const message = `The file could not be inspected: ${why}. Try again.`;
  return new Fault('inspection.unavailable', { status: 503, message, retryAfter: 1 });
}
