import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { bullmqJobs } from '../../../runtime/drivers/jobs/bullmq/index.ts';
import { sqliteStore } from '../../../runtime/drivers/store/sqlite/index.ts';
import { engineFor } from '../../kit/engines.ts';
import { silentLog } from '../../kit/silent-log.ts';
import type { OpenedJobs } from './check.ts';
import { mutants } from './mutants.ts';
import { relayed } from './relayed.ts';
import { ruleChecks } from './rule-checks.ts';
import { pacedChecks } from './sequence-checks.ts';
import { jobsConformance, runCheck } from './suite.ts';
import { realTime } from './time.ts';

const redis = await engineFor('redis');

/** Two engines as one driver: SQLite for what the store does, BullMQ for the jobs. */
async function open(): Promise<OpenedJobs> {
  const { url } = await redis.shared();
  const namespace = randomUUID();
  const store = sqliteStore({ file: ':memory:' });
  let jobs = bullmqJobs({ url, namespace, log: silentLog });
  return {
    ...relayed(store, jobs),
    ...{ time: realTime(), isOneEngine: false },
    async reopen() {
      await jobs.close();
      jobs = bullmqJobs({ url, namespace, log: silentLog });
      return relayed(store, jobs);
    },
    async close() {
      await jobs.close();
      await store.close();
    },
  };
}

describe.skipIf(redis.isMissing)('with Redis', () => {
  jobsConformance('bullmq', open, [...ruleChecks, ...pacedChecks]);

  test.each(Object.keys(mutants))('the suite finds one that %s', async (name) => {
    const { breaks, mutate } = mutants[name] as (typeof mutants)[string];
    const check = ruleChecks.find((one) => one.name === breaks) as (typeof ruleChecks)[number];
    const openMutant = async (): Promise<OpenedJobs> => {
      const opened = await open();
      return { ...opened, ...mutate(opened), reopen: async () => mutate(await opened.reopen()) };
    };
    await expect(runCheck(check, openMutant)).rejects.toThrow(/expected/);
  });
});
