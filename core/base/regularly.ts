import type { Clock } from '../ports/clock.ts';
import { every } from './every.ts';

/**
 * Does something now and then each `interval` ms, never twice at once: a turn that comes while the last one still works is left
 * out. What fails is tried again at the next turn, and told unless it was broken off. Returns the stop, which breaks off what
 * runs, by the signal, and waits for it.
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
