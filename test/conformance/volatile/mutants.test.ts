import { describe, expect, test } from 'vitest';
import { memoryVolatile } from '../../../runtime/drivers/volatile/memory.ts';
import { virtualClock } from '../../kit/virtual-clock.ts';
import { type Mutant, mutants } from './mutants.ts';
import { volatileChecks } from './suite.ts';

describe('the suite bites', () => {
  const failures = async ({ mutate, isApart }: Omit<Mutant, 'breaks'>): Promise<string[]> => {
    const failed: string[] = [];
    for (const check of volatileChecks) {
      const clock = virtualClock({ start: Date.UTC(2026, 0, 1) });
      const volatile = mutate(memoryVolatile({ clock }));
      const peer = isApart ? memoryVolatile({ clock }) : volatile;
      const pass = (ms: number) => clock.advance(ms);
      await check.run({ volatile, peer, pass, patience: 20 }).catch(() => failed.push(check.name));
    }
    return failed;
  };

  test.each(Object.entries(mutants))('a driver that %s', async (_, mutant) => {
    expect(await failures(mutant)).toContain(mutant.breaks);
  });

  test('each check finds some fault, and none without one', async () => {
    expect(await failures({ mutate: (volatile) => volatile })).toEqual([]);
    const broken = new Set(Object.values(mutants).map(({ breaks }) => breaks));
    expect(volatileChecks.map(({ name }) => name).filter((name) => !broken.has(name))).toEqual([]);
  });
});
