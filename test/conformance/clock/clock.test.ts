import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { systemClock } from '../../../runtime/drivers/clock/system.ts';
import { virtualClock } from '../../kit/virtual-clock.ts';
import { clockConformance } from './suite.ts';

clockConformance('system', () => ({
  clock: systemClock(),
  pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
}));

clockConformance('virtual', () => {
  const clock = virtualClock({ start: 1_000 });
  return { clock, pass: (ms) => clock.advance(ms) };
});

test('system: a pending action does not keep the process alive', () => {
  const system = fileURLToPath(new URL('../../../runtime/drivers/clock/system.ts', import.meta.url));
  const script = `import { systemClock } from '${system}'; systemClock().at(Date.now() + 60_000, () => {});`;
  const { status } = spawnSync(process.execPath, ['-e', script], { timeout: 5_000 });
  expect(status).toBe(0);
});

test('system: a clock that is set back keeps nothing waiting', async () => {
  const clock = systemClock();
  const real = Date.now;
  const fired = Promise.withResolvers<void>();
  try {
    clock.at(clock.now() + 50, fired.resolve);
    Date.now = () => real() - 3_600_000;
    // Else it would be an hour, and the test is over before.
    await fired.promise;
    const again = Promise.withResolvers<void>();
    clock.at(clock.now() + 20, again.resolve);
    await again.promise;
  } finally {
    Date.now = real;
  }
});

test('virtual: an action sees its own due time, and the end of the advance comes after all of them', async () => {
  const clock = virtualClock({ start: 0 });
  const seen: number[] = [];
  for (const due of [5, 7, 30]) clock.at(due, () => seen.push(clock.now()));
  await clock.advance(10);
  expect(seen).toEqual([5, 7]);
  expect(clock.now()).toBe(10);
  expect(clock.pending()).toBe(1);
});

test('virtual: what an action sets within the advance runs in it, in order', async () => {
  const clock = virtualClock({ start: 0 });
  const seen: string[] = [];
  clock.at(10, () => {
    seen.push(`first ${clock.now()}`);
    clock.at(15, () => seen.push(`third ${clock.now()}`));
    clock.at(12, () => seen.push(`second ${clock.now()}`));
  });
  clock.at(14, () => seen.push(`between ${clock.now()}`));
  await clock.advance(100);
  expect(seen).toEqual(['first 10', 'second 12', 'between 14', 'third 15']);
});

test('virtual: time waits for promises, and for work outside the thread by the idle hook', async () => {
  let outside = Promise.resolve();
  const clock = virtualClock({ start: 0, idle: () => outside });
  const seen: string[] = [];
  clock.at(10, () => {
    outside = new Promise((resolve) => setTimeout(resolve, 30)).then(() => {
      clock.at(11, () => seen.push(`answer ${clock.now()}`));
    });
  });
  clock.at(20, () => seen.push(`later ${clock.now()}`));
  await clock.advance(50);
  expect(seen).toEqual(['answer 11', 'later 20']);
});

test('virtual: an action set for the past runs without an advance', async () => {
  const clock = virtualClock({ start: 100 });
  const seen: string[] = [];
  clock.at(50, () => seen.push('past'));
  await Promise.resolve();
  expect(seen).toEqual(['past']);
  expect(clock.now()).toBe(100);
});
