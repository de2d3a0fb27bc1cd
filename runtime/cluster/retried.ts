import type { Log } from '../../core/base/log.ts';
import { pause } from '../../core/base/timing.ts';
import type { Clock } from '../../core/ports/clock.ts';

/** Wait before a call to the store or the bus that failed is made again, ms; it doubles up to `longestWait`. */
const firstWait = 100;
const longestWait = 2000;

/**
 * Does `work` until it succeeds, with doubling waits between the attempts; `failure` is told. Undefined when the signal was aborted
 * first: then nobody wants it any more.
 */
export async function retried<T>(
  work: () => Promise<T>,
  options: { clock: Clock; signal: AbortSignal; log: Log; failure: string },
): Promise<T | undefined> {
  const { clock, signal, log, failure } = options;
  for (let tries = 1; !signal.aborted; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted) return undefined;
      if (isWorthTelling(tries)) log.warn(`${failure}; it is tried again`, { tries, error });
      await pause(clock.now() + waitAfter(tries), { clock, signal });
    }
  }
  return undefined;
}

/** ms to wait after so many failures in a row. */
export function waitAfter(tries: number): number {
  return Math.min(longestWait, firstWait * 2 ** Math.min(tries - 1, 20));
}

/** Whether a failure is to be logged: the first, and then ever more rarely, for it may go on for hours. */
export function isWorthTelling(tries: number): boolean {
  return (tries & (tries - 1)) === 0;
}
