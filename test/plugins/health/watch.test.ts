import { expect, test } from 'vitest';
import { type LiveReading, noFigures, noVitals } from '../../../core/ports/media.ts';
import type { HealthKit } from '../../../plugins/health/config.ts';
import { healthWatch, maxEnded } from '../../../plugins/health/watch.ts';
import { virtualClock } from '../../kit/virtual-clock.ts';
import { grant } from '../../media/kit.ts';

const reading = (index: number): LiveReading => ({
  grant: { ...grant({ token: `t${index}` }), streamId: `s${index}`, sessionId: `session${index}` },
  isPublishing: true,
  isDelayed: false,
  figures: noFigures,
  vitals: noVitals,
  viewers: 0,
});

test('of many sessions that are over the last ones are kept, and of none a timer when it stops', () => {
  const clock = virtualClock({ start: Date.UTC(2026, 0, 1) });
  const kit = { clock, config: { maxBitrate: 20_000_000 }, offered: () => [] } as unknown as HealthKit;
  const watch = healthWatch(kit);
  const most = maxEnded;
  const isKept = (index: number) => watch.points(`session${index}`).length > 0;
  watch.look(reading(0), clock.now());
  const running = new Set(['session0']);
  for (let index = 1; index <= most + 10; index += 1) watch.look(reading(index), clock.now());
  watch.seen(running);
  expect(clock.pending()).toBe(most);
  expect([0, 10, 11, most + 10].map(isKept)).toEqual([true, false, true, true]);
  watch.stop();
  expect(clock.pending()).toBe(0);
  expect(isKept(0)).toBe(false);
});
