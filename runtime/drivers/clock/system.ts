import type { Clock } from '../../../core/ports/clock.ts';

/**
 * Longest single wait. `setTimeout` overflows at 2^31 ms and fires at once; and it counts running time, so
 * looking at the wall clock every few minutes keeps a far deadline right when that clock is set or the
 * machine slept.
 */
const longestWait = 5 * 60_000;

/**
 * How far the wall clock may be behind the time that went by, ms: it is drawn right by some of a second, or a timer fires a
 * millisecond before it gets there. Further behind it was set back, and what is due would wait for all of that.
 */
const slack = 1000;

/**
 * The real time. A wait of up to five minutes is over when so much time has gone by, also when the clock is set back
 * meanwhile; a longer one is looked at anew every five minutes, and follows the clock. Its timers do not keep the process alive: a server lives by its sockets, and every pending
 * deadline is in the store and comes back at the next start.
 */
export function systemClock(): Clock {
  return {
    now: () => Date.now(),
    at(due, action) {
      let timeout: ReturnType<typeof setTimeout>;
      /** By the time that goes by, whatever the clock is set to. */
      let latest = Number.POSITIVE_INFINITY;
      const after = (delay: number, next: () => void) => {
        timeout = setTimeout(next, delay);
        timeout.unref();
      };
      const wait = () => {
        const left = Math.max(0, due - Date.now());
        if (left > longestWait) return after(longestWait, wait);
        latest = performance.now() + left + slack;
        after(left, fire);
      };
      // Nothing may run early.
      const fire = () => {
        const left = Math.min(due - Date.now(), latest - performance.now());
        if (left > 0) after(left, fire);
        else action();
      };
      wait();
      return () => clearTimeout(timeout);
    },
  };
}

/**
 * Keeps the process alive until the returned function is called. The timers of the system clock do not, and a start that
 * waits for an engine has neither socket nor listener.
 */
export function holdProcess(): () => void {
  // However long: it is there, that is all.
  const timer = setInterval(() => {}, 3_600_000);
  return () => clearInterval(timer);
}
