import { setTimeout as sleep } from 'node:timers/promises';

/** Aborted by Ctrl+C and SIGTERM. `close` gives the signals back. */
export interface Interruption extends Disposable {
  readonly signal: AbortSignal;
}

export function interruption(): Interruption {
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) process.on(signal, stop);
  return {
    signal: stopping.signal,
    [Symbol.dispose]() {
      for (const signal of signals) process.off(signal, stop);
    },
  };
}

/** Runs what goes on until Ctrl+C. Undefined where that has ended it. */
export async function untilInterrupted<T>(run: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
  using interrupted = interruption();
  try {
    return await run(interrupted.signal);
  } catch (error) {
    if (!interrupted.signal.aborted) throw error;
    return undefined;
  }
}

/** Rejects when the signal is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal });
}
