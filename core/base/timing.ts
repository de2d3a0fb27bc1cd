import type { Clock } from '../ports/clock.ts';

/** Does something again and again, the first time after `interval` ms. What it begins is not waited for. Returns the stop. */
export function every(interval: number, options: { clock: Clock; work: () => void }): () => void {
  const { clock, work } = options;
  let cancel = () => {};
  const schedule = () => {
    cancel = clock.at(clock.now() + interval, () => {
      schedule();
      work();
    });
  };
  schedule();
  return () => cancel();
}

/**
 * Does something now and then every `interval` ms, never twice at once: a turn is skipped while the last one still runs. A failure
 * is reported and tried again at the next turn. Returns the stop, which aborts a running turn and waits for it.
 */
export function regularly(
  interval: number,
  options: {
    readonly clock: Clock;
    work(signal: AbortSignal): Promise<void>;
    failed(error: unknown): void;
  },
): () => Promise<void> {
  const { clock, work, failed } = options;
  const ending = new AbortController();
  let running: Promise<void> | undefined;
  const turn = () => {
    running ??= work(ending.signal)
      .catch((error: unknown) => {
        if (!ending.signal.aborted) failed(error);
      })
      .finally(() => {
        running = undefined;
      });
  };
  turn();
  const stop = every(interval, { clock, work: turn });
  return async () => {
    stop();
    ending.abort();
    await running;
  };
}

/** The result of the work, or a rejection with `late()` after `ms`. The work itself goes on. */
export function within<T>(
  work: Promise<T>,
  { ms, clock, late }: { ms: number; clock: Clock; late: () => Error },
): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.at(clock.now() + ms, () => reject(late()));
    work.then(resolve, reject).finally(cancel);
  });
}

/** The result of the work, or a rejection with the reason of the signal. The work itself goes on. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const stop = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  return await Promise.race([aborted.promise, work]).finally(() => signal.removeEventListener('abort', stop));
}

/** Resolves at `due` (epoch ms), or as soon as the signal is aborted. */
export function pause(due: number, options: { clock: Clock; signal: AbortSignal }): Promise<void> {
  const { clock, signal } = options;
  return new Promise((resolve) => {
    const end = () => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.at(due, end);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end);
  });
}
