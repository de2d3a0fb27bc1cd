import { Fault } from '../../core/base/fault.ts';
import type { Log } from '../../core/base/log.ts';
import { pause } from '../../core/base/timing.ts';
import type { Clock } from '../../core/ports/clock.ts';

/** How long a start waits for an engine that does not answer, ms. */
const startWait = 60_000;
const retryInterval = 500;
/** How often the log says that the start waits, ms. */
const tellInterval = 5_000;

/**
 * The outcome of an attempt that needs an engine which may not be up yet: repeated while that does not answer, with a
 * line in the log now and then. Beyond the time for a start it throws what the last attempt threw; anything but an
 * engine that does not answer is thrown at once.
 */
export async function patiently<T>(
  engine: string,
  options: { attempt: () => Promise<T>; clock: Clock; log: Log; signal: AbortSignal },
): Promise<T> {
  const { attempt, clock, log, signal } = options;
  const began = clock.now();
  let toldAt = Number.NEGATIVE_INFINITY;
  for (;;) {
    signal.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      const now = clock.now();
      if (!isSilence(error) || now - began >= startWait) throw error;
      if (now - toldAt >= tellInterval) {
        toldAt = now;
        const seconds = Math.round((now - began) / 1000);
        log.warn('an engine does not answer yet; the start waits for it', { engine, seconds, error });
      }
    }
    await pause(clock.now() + retryInterval, { clock, signal });
  }
}

/** Whether the engine did not answer, or not in time: a repeat may succeed. */
function isSilence(error: unknown): boolean {
  return error instanceof Fault && /\.(unreachable|unavailable|unknown)$/.test(error.code);
}
