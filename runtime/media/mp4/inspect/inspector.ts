import { Fault } from '../../../../core/base/fault.ts';
import { valuesOf } from '../../../../core/base/limit-table.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import type { FilmPlayback, InspectedFile, Inspection, Inspector } from '../../../../core/ports/inspector.ts';
import { type OwnThread, ownThread } from '../../../base/own-thread.ts';
import { inspectionLimits } from './limits.ts';
import type { FromWorker, ToWorker } from './protocol.ts';

const worker = new URL('./inspect-worker.ts', import.meta.url);

interface Asked {
  readonly file: InspectedFile;
  readonly isConverted: boolean;
  readonly keep?: (playback: FilmPlayback) => Promise<void>;
  resolve(inspection: Inspection): void;
  reject(error: unknown): void;
  /** The thread waits for what `file` reads: it is not to blame for silence. */
  isReading: boolean;
}

/**
 * Inspects in a thread of its own, which is begun when there is something to do. Pieces of a file that lies elsewhere are
 * read here and handed over.
 */
export function inspector(options: {
  readonly clock: Clock;
  /** Of tests: another thread, other limits. */
  readonly worker?: URL;
  readonly limits?: Partial<Record<keyof typeof inspectionLimits, number>>;
}): Inspector {
  const { clock } = options;
  const limits = { ...valuesOf(inspectionLimits), ...options.limits };
  const running = new Map<number, Asked>();
  const waiting = new Map<number, Asked>();
  /** Inspections that are done, but for what is kept of them. */
  let keeping = 0;
  let thread: OwnThread<ToWorker> | undefined;
  let cancel = () => {};
  let number = 0;
  let isClosed = false;

  const send = (message: ToWorker) => thread?.send(message);

  /** Looks once for how long it is quiet, or idle. Each word of the thread begins the time anew. */
  const watch = () => {
    cancel();
    const isIdle = running.size === 0;
    cancel = clock.at(clock.now() + (isIdle ? limits.idle : limits.silence), () => {
      if (isIdle) end();
      else if ([...running.values()].some(({ isReading }) => !isReading))
        fail(`nothing was heard of it for ${limits.silence} ms`);
      else watch();
    });
  };

  const end = () => {
    cancel();
    thread?.end();
    thread = undefined;
  };

  /** What runs in the thread is lost, what waits goes on in another. */
  const fail = (reason: string) => {
    end();
    const lost = [...running.values()];
    running.clear();
    for (const asked of lost) asked.reject(unavailable(`the file could not be looked into: ${reason}`));
    advance();
  };

  const begin = (): OwnThread<ToWorker> => {
    return ownThread(options.worker ?? worker, { hear, ended: fail });
  };

  const hear = (message: FromWorker) => {
    watch();
    if ('alive' in message) return;
    const { id } = message;
    const asked = running.get(id);
    if (asked === undefined) return;
    if ('read' in message) {
      void read(id, { asked, ...message.read });
      return;
    }
    if ('failed' in message) {
      settle(id);
      asked.reject(new Error(`the file cannot be inspected: ${message.failed}`));
      return;
    }
    const { inspection, playback } = message;
    if (asked.keep && playback)
      void keep(id, { asked: { ...asked, keep: asked.keep }, inspection, playback });
    else {
      settle(id);
      asked.resolve(inspection);
    }
  };

  /** The thread is done with it, its place is not free yet. */
  const keep = async (
    id: number,
    done: { asked: Asked & Required<Pick<Asked, 'keep'>>; inspection: Inspection; playback: FilmPlayback },
  ) => {
    const { asked, inspection, playback } = done;
    keeping += 1;
    running.delete(id);
    watch();
    try {
      await asked.keep(playback);
      asked.resolve(inspection);
    } catch (error) {
      asked.reject(error);
    }
    keeping -= 1;
    advance();
  };

  const read = async (id: number, piece: { asked: Asked; from: number; to: number }) => {
    const { asked, from, to } = piece;
    if ('path' in asked.file) return;
    asked.isReading = true;
    try {
      const bytes = await asked.file.read(from, to);
      if (running.get(id) === asked) send({ id, bytes });
    } catch (error) {
      if (running.get(id) !== asked) return;
      send({ id, stop: true });
      settle(id);
      asked.reject(error);
    }
    asked.isReading = false;
    if (running.get(id) === asked) watch();
  };

  const settle = (id: number) => {
    running.delete(id);
    advance();
  };

  const advance = () => {
    for (const [id, asked] of waiting) {
      if (running.size + keeping >= limits.running) break;
      waiting.delete(id);
      running.set(id, asked);
      thread ??= begin();
      const { file, isConverted, keep } = asked;
      const subject = 'path' in file ? { path: file.path } : { size: file.size };
      send({ id, begin: { ...subject, isPlayed: keep !== undefined, isConverted } });
    }
    if (thread !== undefined) watch();
  };

  return {
    async inspect(file, { signal, isConverted = false, keep }) {
      signal.throwIfAborted();
      if (isClosed) throw unavailable('files are no longer looked into');
      if (waiting.size >= limits.waiting) throw unavailable(`${waiting.size} files wait to be looked into`);
      number += 1;
      const id = number;
      let stop = () => {};
      try {
        return await new Promise<Inspection>((resolve, reject) => {
          stop = () => {
            if (waiting.delete(id)) reject(signal.reason);
            else if (running.has(id)) {
              send({ id, stop: true });
              settle(id);
              reject(signal.reason);
            }
          };
          signal.addEventListener('abort', stop);
          waiting.set(id, { file, isConverted, ...(keep && { keep }), resolve, reject, isReading: false });
          advance();
        });
      } finally {
        signal.removeEventListener('abort', stop);
      }
    },
    async close() {
      isClosed = true;
      const lost = [...waiting.values(), ...running.values()];
      waiting.clear();
      running.clear();
      end();
      for (const asked of lost) asked.reject(unavailable('files are no longer looked into'));
    },
  };
}

function unavailable(message: string): Fault {
  return new Fault('inspection.unavailable', { status: 503, message, retryAfter: 1 });
}
