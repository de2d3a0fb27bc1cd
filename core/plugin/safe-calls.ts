import type { Log } from '../base/log.ts';
import type { Clock } from '../ports/clock.ts';

/** Between two lines about the same, ms: what fails may be called for every request, or each second. */
const logInterval = 60_000;

/**
 * For calls of what other plugins offer, so that one that is broken spoils nothing else: where `call` throws, the result is
 * `otherwise`, and the log says so at most once a minute.
 */
export function safeCalls({ clock, log }: { clock: Pick<Clock, 'now'>; log: Log }): SafeCall {
  const logged = new Map<string, number>();
  return (what, { call, otherwise }) => {
    try {
      return call();
    } catch (error) {
      const now = clock.now();
      if (now - (logged.get(what) ?? Number.NEGATIVE_INFINITY) >= logInterval) {
        logged.set(what, now);
        log.error('what another plugin offers fails; it is left out', { what, error });
      }
      return otherwise;
    }
  };
}

/** @param what of the program, such as the name of a collection */
export type SafeCall = <T>(what: string, options: { call: () => T; otherwise: T }) => T;
