import { describe, expect, test } from 'vitest';
import type { Clock } from '../../../core/ports/clock.ts';

/** What every clock must do. `pass` lets that much time go by, and what falls due in it run. */
export function clockConformance(
  name: string,
  open: () => { clock: Clock; pass(ms: number): Promise<void> },
): void {
  describe(`clock: ${name}`, () => {
    test('runs an action once, at its time and not before', async () => {
      const { clock, pass } = open();
      const due = clock.now() + 20;
      const runs: number[] = [];
      clock.at(due, () => runs.push(clock.now()));
      expect(runs).toEqual([]);
      await pass(60);
      await pass(30);
      expect(runs).toHaveLength(1);
      expect(runs[0]).toBeGreaterThanOrEqual(due);
    });

    test('runs what is past at once, but never within the call', async () => {
      const { clock, pass } = open();
      const runs: string[] = [];
      clock.at(clock.now() - 1000, () => runs.push('past'));
      clock.at(clock.now(), () => runs.push('now'));
      expect(runs).toEqual([]);
      await pass(20);
      expect(runs).toEqual(['past', 'now']);
    });

    test('runs actions by their due times, not in the order they were set', async () => {
      const { clock, pass } = open();
      const now = clock.now();
      const runs: number[] = [];
      for (const due of [60, 10, 35]) clock.at(now + due, () => runs.push(due));
      await pass(120);
      expect(runs).toEqual([10, 35, 60]);
    });

    test('a cancelled action does not run, and cancelling again is harmless', async () => {
      const { clock, pass } = open();
      const runs: string[] = [];
      const cancels = [0, 20].map((delay) => clock.at(clock.now() + delay, () => runs.push('ran')));
      for (const cancel of [...cancels, ...cancels]) cancel();
      await pass(50);
      for (const cancel of cancels) cancel();
      expect(runs).toEqual([]);
    });

    test('a due time further than a timer can count does not fire now', async () => {
      const { clock, pass } = open();
      const runs: string[] = [];
      const cancels = [2 ** 31, 2 ** 32 + 5].map((delay) =>
        clock.at(clock.now() + delay, () => runs.push('ran')),
      );
      await pass(50);
      expect(runs).toEqual([]);
      for (const cancel of cancels) cancel();
    });
  });
}
