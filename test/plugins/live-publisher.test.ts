import { expect, test } from 'vitest';
import { type LiveReading, noFigures, noVitals } from '../../core/ports/media.ts';
import type { VolatileEntry } from '../../core/ports/volatile.ts';
import type { StreamsKit } from '../../plugins/streams/config.ts';
import { livePublisher } from '../../plugins/streams/live-publisher.ts';
import { useOf } from '../kit/use.ts';
import { virtualClock } from '../kit/virtual-clock.ts';
import { grant } from '../media/kit.ts';

/** `count` broadcasts on a node whose event loop takes `turn` ms for each turn. */
function busyNode({ count, turn }: { count: number; turn: number }) {
  const clock = virtualClock({ start: Date.UTC(2026, 0, 1) });
  const readings = Array.from(
    { length: count },
    (_, index): LiveReading => ({
      grant: { ...grant({ token: `t${index}` }), streamId: `s${index}`, sessionId: `session${index}` },
      isPublishing: true,
      isDelayed: false,
      figures: noFigures,
      vitals: noVitals,
      viewers: 0,
    }),
  );
  const published = new Map<string, number>();
  const volatile = {
    async set(entries: readonly VolatileEntry[]) {
      for (const { key } of entries) published.set(key, (published.get(key) ?? 0) + 1);
    },
  };
  const slow = {
    now: clock.now,
    at: (due: number, action: () => void) => clock.at(Math.max(due, clock.now() + turn), action),
  };
  const media = { readings: () => readings };
  const kit = { clock: slow, use: useOf({ media, volatile }), log: { warn() {} } };
  return { clock, published, live: livePublisher(kit as unknown as StreamsKit) };
}

test('every broadcast is looked at, also when a round takes longer than a second', async () => {
  const { clock, published, live } = busyNode({ count: 220, turn: 400 });
  const seen: number[] = [];
  live.observe({ look: () => [], seen: (sessions) => seen.push(sessions.size) });
  live.wake();
  await clock.advance(10_000);
  expect(published.size).toBe(220);
  expect(new Set(published.values()).size).toBeLessThan(3);
  expect(seen.length).toBeGreaterThan(3);
  live.stop();
  expect(clock.pending()).toBe(0);
});

test('it keeps to the second when it can', async () => {
  const { clock, published, live } = busyNode({ count: 220, turn: 10 });
  live.wake();
  live.wake();
  await clock.advance(10_100);
  expect([...new Set(published.values())]).toEqual([10]);
  live.stop();
  expect(clock.pending()).toBe(0);
});
