/** The time of a check: numbers and nothing else, because drivers go by the times of their callers. Moments are epoch ms. */
export interface SuiteTime {
  now(): number;
  /** The last time at which the moment has not come yet. */
  before(moment: number): Promise<number>;
  /** The first time at which it has come. */
  at(moment: number): Promise<number>;
}

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
