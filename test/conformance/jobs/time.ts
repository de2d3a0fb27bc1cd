/** The time of a check. Moments are epoch ms. */
export interface SuiteTime {
  now(): number;
  /** A time at which the moment has not come yet: the last such one, where the time can be chosen. */
  before(moment: number): Promise<number>;
  /** A time at which it has come: the first such one, where the time can be chosen. */
  at(moment: number): Promise<number>;
}

/** What a check had to do before some moment took until after it: nothing is known of the driver. */
export class TooSlow extends Error {}

/** Numbers and nothing else, for drivers that go by the times of their callers. */
export function virtualTime(start: number): SuiteTime {
  let now = start;
  return {
    now: () => now,
    before: async (moment) => {
      now = Math.max(now, moment - 1);
      return now;
    },
    at: async (moment) => {
      now = Math.max(now, moment);
      return now;
    },
  };
}

/**
 * For drivers that go by a clock of their own: it is waited for. `leasing` is told of each call that sets the end of a lease: whoever
 * names a moment does so before it is written down, as a length of time, so it may end later by as long as the call took.
 */
export function realTime(): SuiteTime & { leasing<T>(call: Promise<T>): Promise<T> } {
  let longest = 0;
  return {
    async leasing(call) {
      const from = Date.now();
      const value = await call;
      longest = Math.max(longest, Date.now() - from);
      return value;
    },
    now: () => Date.now(),
    before: async (moment) => {
      const now = Date.now();
      if (now >= moment) throw new TooSlow(`${now - moment} ms late`);
      return now;
    },
    at: async (moment) => {
      const end = moment + longest + reserve;
      while (Date.now() < end) await Bun.sleep(end - Date.now());
      return Date.now();
    },
  };
}

const reserve = 50;
