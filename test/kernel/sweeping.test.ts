import { expect, it } from 'vitest';
import { Metrics } from '../../core/base/metrics.ts';
import { sweeping } from '../../runtime/actors/sweeping.ts';
import { sqliteStore } from '../../runtime/drivers/store/sqlite/index.ts';
import { silentLog } from '../kit/silent-log.ts';
import { trackedStore } from '../kit/tracked-store.ts';
import { virtualClock } from '../kit/virtual-clock.ts';

const HOUR = 3_600_000;

function given() {
  const clock = virtualClock({ start: 100 * HOUR });
  const swept: number[] = [];
  let finish: (() => void) | undefined;
  const stop = sweeping({
    clock,
    log: silentLog,
    metrics: new Metrics(),
    store: {
      events: {} as never,
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

it('keeps what is not published for a week, and then says what is forgotten', async () => {
  const tracked = trackedStore(sqliteStore({ file: ':memory:' }));
  const { store } = tracked;
  const clock = virtualClock({ start: 1000 * HOUR, idle: tracked.idle });
  await store.acquire(1);
  const tell = (id: string, at: number) =>
    store.write({ at, rows: [], events: [{ id, type: 't', account: 'a', stream: '', body: '{}' }] });
  const kept = async () => (await store.events.after(0, { limit: 100 })).map(({ id }) => id);
  await tell('published', clock.now() - 25 * HOUR);
  await tell('late', clock.now());
  // A timer that was due long ago, while all nodes were off.
  await tell('overdue', clock.now() - 200 * HOUR);
  await store.events.advance('bus/events', 1);
  const metrics = new Metrics();
  const told: unknown[] = [];
  const log = { ...silentLog, error: (...line: unknown[]) => void told.push(line) };
  const stop = sweeping({ store, clock, log, metrics, publisher: 'bus/events' });
  const lost = () => metrics.text().match(/events_never_published_total (\d+)/)?.[1];
  await clock.advance(0);
  expect(await kept()).toEqual(['late', 'overdue']);
  await clock.advance(168 * HOUR);
  expect(await kept()).toEqual(['late', 'overdue']);
  expect([told, lost()]).toEqual([[], '0']);
  await clock.advance(HOUR);
  expect(await kept()).toEqual([]);
  expect(told).toEqual([
    ['events are forgotten that could not be published for a week', { events: 2, from: 'late' }],
  ]);
  expect(lost()).toBe('2');
  await stop();
  await store.close();
});
