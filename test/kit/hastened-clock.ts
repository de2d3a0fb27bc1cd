import { systemClock } from '../../runtime/drivers/clock/system.ts';

/** The system's clock, `times` as fast, which can also be put forward. */
export function hastenedClock(times: number) {
  const clock = systemClock();
  const start = clock.now();
  let ahead = 0;
  return {
    now: () => start + (clock.now() - start) * times + ahead,
    at: (time: number, action: () => void) => clock.at(start + (time - ahead - start) / times, action),
    skip(ms: number) {
      ahead += ms;
    },
  };
}
