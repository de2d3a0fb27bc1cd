import type { Fault } from '../base/fault.ts';
import type { Clock } from '../ports/clock.ts';

/** Keeps an account from making things for ever. */
export interface Quota {
  /** Takes places for what is about to be made. Throws the `full` fault when there are not so many. */
  admit(account: string, places?: number): Promise<void>;
  /** Something was deleted. */
  gone(account: string): void;
}

export interface QuotaOptions {
  readonly clock: Clock;
  /** Things an account may have. May be passed by what several nodes, or plugins, make at the same moment. */
  readonly most: number;
  /** Counts what is stored: once for each account, and again when its quota seems used up. */
  count(account: string): Promise<number>;
  full(): Fault;
}

/** Shortest time between two counts of an account that seems to be full, ms: a count reads all its rows. */
export const recountInterval = 60_000;

/**
 * Counts in memory, so that admitting costs nothing. What went wrong after it was admitted, or was deleted
 * elsewhere, is counted as there until the quota seems used up; then the store has the last word.
 */
export function quota(options: QuotaOptions): Quota {
  const { clock, most } = options;
  const counts = new Map<string, Promise<{ used: number; readonly at: number }>>();
  const counted = (account: string) => {
    const at = clock.now();
    const count = options.count(account).then((used) => ({ used, at }));
    counts.set(account, count);
    // What could not be counted is counted next time.
    count.catch(() => counts.delete(account));
    return count;
  };
  return {
    async admit(account, places = 1) {
      let own = await (counts.get(account) ?? counted(account));
      if (own.used + places > most && clock.now() - own.at >= recountInterval) {
        own = await counted(account);
      }
      if (own.used + places > most) throw options.full();
      own.used += places;
    },
    gone(account) {
      counts.get(account)?.then(
        (own) => {
          own.used -= 1;
        },
        () => {},
      );
    },
  };
}
