import { describe, expect, test } from 'vitest';
import { memoryVolatile } from '../../../runtime/drivers/volatile/memory.ts';
import { virtualClock } from '../../kit/virtual-clock.ts';
import { volatileChecks } from './suite.ts';

function open(entries?: number) {
  const clock = virtualClock({ start: Date.UTC(2026, 0, 1) });
  const volatile = memoryVolatile({ clock, ...(entries !== undefined && { entries }) });
  return { clock, volatile, peer: volatile, pass: (ms: number) => clock.advance(ms) };
}

describe('volatile: memory', () => {
  test.each(volatileChecks)('$name', async (check) => {
    await check.run(open());
  });

  const numbered = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, index) => ({ key: `n/${from + index}`, value: from + index }));

  test('when it is full, new keys are refused and old ones go on', async () => {
    const { volatile } = open(3);
    await volatile.set(numbered(0, 3), { lasts: 1000 });
    const entries = [{ key: 'n/1', value: 'new' }, ...numbered(3, 5)];
    await expect(volatile.set(entries, { lasts: 1000 })).rejects.toThrow('2 new ones were refused');
    expect(await volatile.get(['n/0', 'n/1', 'n/3'])).toEqual([0, 'new', undefined]);
  });

  test('what is over makes room, and is let go without being asked for', async () => {
    const { volatile, pass } = open(3);
    await volatile.set(numbered(0, 3), { lasts: 1000 });
    await pass(1000);
    await volatile.set(numbered(3, 6), { lasts: 1000 });
    expect(await volatile.get(['n/2', 'n/5'])).toEqual([undefined, 5]);
  });

  test('it sets no timer', async () => {
    const { clock, volatile } = open();
    await volatile.set(numbered(0, 100), { lasts: 1000 });
    expect(clock.pending()).toBe(0);
  });
});
