import type { Clock } from '../../../../core/ports/clock.ts';
import { reading } from './limits.ts';

/** How far the clock of this machine may be ahead of the one that dates the records of a log. */
export interface Lead {
  /** A record of this time was on the log when it was read. */
  note(at: number): void;
  /** ms, at least 0; too much by as long as the quickest record of late took from the broker to here. */
  ms(): number;
}

export function lead(clock: Clock): Lead {
  let since = clock.now();
  let last: number | undefined;
  let current: number | undefined;
  return {
    note(at) {
      const now = clock.now();
      if (now - since > reading.leadWindow) {
        last = current;
        current = undefined;
        since = now;
      }
      current = Math.min(current ?? Number.POSITIVE_INFINITY, now - at);
    },
    ms() {
      const least = Math.min(last ?? Number.POSITIVE_INFINITY, current ?? Number.POSITIVE_INFINITY);
      return Number.isFinite(least) ? Math.max(0, least) : 0;
    },
  };
}
