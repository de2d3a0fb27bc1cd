import { describe, expect, test } from 'vitest';
import type { Jobs } from '../../../core/ports/jobs.ts';
import type { Store } from '../../../core/ports/store.ts';
import { sqliteStore } from '../../../runtime/drivers/store/sqlite/index.ts';
import type { JobCheck } from './check.ts';
import { ruleChecks } from './rule-checks.ts';
import { sequenceChecks } from './sequence-checks.ts';

interface Driver {
  readonly store: Store;
  readonly jobs: Jobs;
}

const withJobs = ({ store, jobs }: Driver, change: Partial<Jobs>): Driver => ({
  store,
  jobs: { ...jobs, ...change },
});

/**
 * Drivers with one fault each. The suite is worth something only if every one of them fails, in the very check that
 * is about its fault.
 */
const mutants: Record<string, { breaks: string; mutate: (driver: Driver) => Driver }> = {
  'lets two have one job': {
    breaks: 'a claimed job is nobody else’s until its lease ends, and counts its attempts',
    mutate: (driver) =>
      withJobs(driver, {
        claim: (kind, claim) => driver.jobs.claim(kind, { ...claim, until: claim.now }),
      }),
  },
  'hands a job out before its time': {
    breaks: 'a claim gives what is ready of its kind, in the order of time and adding, as much as asked',
    mutate: (driver) =>
      withJobs(driver, {
        claim: (kind, claim) => driver.jobs.claim(kind, { ...claim, now: claim.now + 1 }),
      }),
  },
  'lets a former owner finish': {
    breaks: 'an owner whose lease another has can neither finish nor put back nor keep',
    mutate: ({ store, jobs }) => ({
      store: {
        ...store,
        async commit(step) {
          const outcome = await store.commit(step);
          if (outcome.outcome !== 'lost') return outcome;
          const { finish, ...rest } = step;
          return store.commit(rest);
        },
      },
      jobs,
    }),
  },
  'loses a job whose result could not be written': {
    breaks: 'a step finishes a job together with its own writes, or not at all',
    mutate: ({ store, jobs }) => ({
      store: {
        ...store,
        async commit(step) {
          const outcome = await store.commit(step);
          if (step.finish && outcome.outcome === 'conflict') {
            await jobs.finish(step.finish.owner, step.finish.id);
          }
          return outcome;
        },
      },
      jobs,
    }),
  },
  'forgets to cancel': {
    breaks: 'a cancelled job is gone for whoever has it, and only its own actor cancels it',
    mutate: ({ store, jobs }) => ({
      store: { ...store, commit: (step) => store.commit({ ...step, cancels: [] }) },
      jobs,
    }),
  },
  'counts no attempts': {
    breaks: 'a claimed job is nobody else’s until its lease ends, and counts its attempts',
    mutate: (driver) =>
      withJobs(driver, {
        claim: async (kind, claim) =>
          (await driver.jobs.claim(kind, claim)).map((job) => ({ ...job, attempt: 1 })),
      }),
  },
  'tells nobody that a lease is lost': {
    breaks: 'a beat keeps leases, and names those that are lost',
    mutate: (driver) =>
      withJobs(driver, { beat: async (owner, leases) => (await driver.jobs.beat(owner, leases)) && [] }),
  },
  'ends the leases of every node': {
    breaks: 'a process that starts again ends the leases of those before it, and of no other node',
    mutate: (driver) =>
      withJobs(driver, {
        async takeOver(owner, now) {
          let ended = await driver.jobs.takeOver(owner, now);
          for (const node of ['node-10', 'node-1/deeper', 'n1', 'n2']) {
            if (!owner.startsWith(`${node}/`)) ended += await driver.jobs.takeOver(`${node}/none`, now);
          }
          return ended;
        },
      }),
  },
};

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

async function failures(checks: readonly JobCheck[], mutate: (driver: Driver) => Driver): Promise<string[]> {
  const failed: string[] = [];
  for (const check of checks) {
    const store = sqliteStore({ file: ':memory:' });
    const driver = mutate({ store, jobs: store.jobs });
    try {
      await check.run({ ...driver, reopen: async () => driver, close: () => store.close() });
    } catch (error) {
      if (!(error instanceof Error && error.name === 'AssertionError')) throw error;
      failed.push(check.name);
    } finally {
      await store.close();
    }
  }
  return failed;
}
