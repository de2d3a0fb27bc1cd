import { describe, expect, test } from 'vitest';
import { sqliteStore } from '../../../runtime/drivers/store/sqlite/index.ts';
import { start } from '../store/fixtures.ts';
import type { Halves, JobCheck } from './check.ts';
import { mutants } from './mutants.ts';
import { ruleChecks } from './rule-checks.ts';
import { sequenceChecks } from './sequence-checks.ts';
import { virtualTime } from './time.ts';

describe('the suite bites', () => {
  test.each(Object.entries(mutants))('a driver that %s', async (_, { breaks, mutate }) => {
    const own = ruleChecks.filter((check) => check.name === breaks);
    expect(own).toHaveLength(1);
    expect(await failures(own, mutate)).toEqual([breaks]);
    // The generated calls find it too, without having been told where to look.
    expect(await failures(sequenceChecks, mutate)).not.toEqual([]);
  });

  test('and not without a fault', async () => {
    expect(await failures(sequenceChecks.slice(0, 3), (driver) => driver)).toEqual([]);
  });
});

async function failures(checks: readonly JobCheck[], mutate: (driver: Halves) => Halves): Promise<string[]> {
  const failed: string[] = [];
  for (const check of checks) {
    const store = sqliteStore({ file: ':memory:' });
    const driver = mutate({ store, jobs: store.jobs });
    try {
      const about = { time: virtualTime(start) };
      await check.run({ ...driver, ...about, reopen: async () => driver, close: () => store.close() });
    } catch (error) {
      if (!(error instanceof Error && error.name === 'AssertionError')) throw error;
      failed.push(check.name);
    } finally {
      await store.close();
    }
  }
  return failed;
}
