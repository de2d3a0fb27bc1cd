import type { Clock } from '../../../core/ports/clock.ts';

/**
 * Longest single wait. `setTimeout` overflows at 2^31 ms and fires at once; and it counts running time, so
 * looking at the wall clock every few minutes keeps a far deadline right when that clock is set or the
 * machine slept.
 */
const longestWait = 5 * 60_000;

/**
 * The real time. Its timers do not keep the process alive: a server lives by its sockets, and every pending
 * deadline is in the store and comes back at the next start.
 */
export function systemClock(): Clock {
  return {
    now: () => Date.now(),
    at(due, action) {
      let timeout: ReturnType<typeof setTimeout>;
      const wait = () => {
        const left = Math.max(0, due - Date.now());
        timeout = setTimeout(left > longestWait ? wait : fire, Math.min(left, longestWait));
        timeout.unref();
      };
      // A timer may fire a millisecond before the wall clock gets there, and nothing may run early.
      const fire = () => (Date.now() < due ? wait() : action());
      wait();
      return () => clearTimeout(timeout);
    },
  };
}
