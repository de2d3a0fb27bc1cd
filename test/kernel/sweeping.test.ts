import { expect, it } from 'vitest';
import { sweeping } from '../../runtime/actors/sweeping.ts';
import { silentLog } from '../kit/silent-log.ts';
import { virtualClock } from '../kit/virtual-clock.ts';

const HOUR = 3_600_000;

function given() {
  const clock = virtualClock({ start: 100 * HOUR });
  const swept: number[] = [];
  let finish: (() => void) | undefined;
  const stop = sweeping({
    clock,
    log: silentLog,
    store: {
      resources: { list: async () => [] } as never,
      write: () => Promise.reject(new Error('nothing is written')),
      sweep: (before) => {
        swept.push(before);
        return new Promise((resolve) => {
          finish = resolve;
        });
      },
    },
  });
  return { clock, swept, stop, finish: () => finish?.() };
}

it('removes what is a day old at the start, and once an hour', async () => {
  const { clock, swept, stop, finish } = given();
  expect(swept).toEqual([76 * HOUR]);
  finish();
  await clock.advance(HOUR);
  expect(swept).toEqual([76 * HOUR, 77 * HOUR]);
  finish();
  await stop();
  expect(clock.pending()).toBe(0);
});

it('is not begun anew while it is under way, which the stop waits for', async () => {
  const { clock, swept, stop, finish } = given();
  await clock.advance(3 * HOUR);
  expect(swept).toHaveLength(1);
  let isStopped = false;
  const stopped = stop().then(() => {
    isStopped = true;
  });
  await clock.advance(0);
  expect(isStopped).toBe(false);
  finish();
  await stopped;
});
