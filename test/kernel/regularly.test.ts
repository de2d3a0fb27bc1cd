import { expect, it } from 'vitest';
import { regularly } from '../../core/base/timing.ts';
import { virtualClock } from '../kit/virtual-clock.ts';

function begun(work?: (signal: AbortSignal, turn: number) => Promise<void>) {
  const clock = virtualClock({ start: 0 });
  const turns: number[] = [];
  const failures: unknown[] = [];
  const stop = regularly(1000, {
    clock,
    async work(signal) {
      turns.push(clock.now());
      await work?.(signal, turns.length);
    },
    failed: (error) => void failures.push(error),
  });
  return { clock, turns, failures, stop };
}

it('works at once and then at each interval, until it is stopped', async () => {
  const { clock, turns, stop } = begun();
  expect(turns).toEqual([0]);
  await clock.advance(2500);
  expect(turns).toEqual([0, 1000, 2000]);
  await stop();
  await clock.advance(5000);
  expect(turns).toEqual([0, 1000, 2000]);
});

it('never works twice at once: what comes meanwhile is left out', async () => {
  const gate = Promise.withResolvers<void>();
  const { clock, turns } = begun((_, turn) => (turn === 1 ? gate.promise : Promise.resolve()));
  await clock.advance(2500);
  expect(turns).toEqual([0]);
  gate.resolve();
  await clock.advance(1000);
  expect(turns).toEqual([0, 3000]);
});

it('tells what failed, and tries again', async () => {
  const { clock, turns, failures } = begun((_, turn) =>
    turn === 1 ? Promise.reject(new Error('no store')) : Promise.resolve(),
  );
  await clock.advance(1000);
  expect([turns, failures]).toEqual([[0, 1000], [new Error('no store')]]);
});

it('is stopped in the midst of it: the work is broken off, waited for, and no failure', async () => {
  const gate = Promise.withResolvers<void>();
  let wasAborted: boolean | undefined;
  const { stop, failures } = begun(async (signal) => {
    await gate.promise;
    wasAborted = signal.aborted;
    signal.throwIfAborted();
  });
  let isStopped = false;
  const stopped = Promise.resolve(stop()).then(() => {
    isStopped = true;
  });
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  expect(isStopped).toBe(false);
  gate.resolve();
  await stopped;
  expect([wasAborted, failures]).toEqual([true, []]);
});
