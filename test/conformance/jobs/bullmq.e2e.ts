import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Store } from '../../../core/ports/store.ts';
import { type BullmqJobsOptions, bullmqJobs } from '../../../runtime/drivers/jobs/bullmq/index.ts';
import { redisStore } from '../../../runtime/drivers/store/redis/index.ts';
import { sqliteStore } from '../../../runtime/drivers/store/sqlite/index.ts';
import { engineFor } from '../../kit/engines.ts';
import { startCluster } from '../../kit/redis-cluster.ts';
import { silentLog } from '../../kit/silent-log.ts';
import type { OpenedJobs } from './check.ts';
import { mutants } from './mutants.ts';
import { relayed } from './relayed.ts';
import { ruleChecks } from './rule-checks.ts';
import { pacedChecks } from './sequence-checks.ts';
import { jobsConformance, runCheck } from './suite.ts';
import { realTime } from './time.ts';

const redis = await engineFor('redis');

/** Two engines as one driver: BullMQ for the jobs, and another for what the store does. */
async function open(
  store: Store,
  options: Omit<BullmqJobsOptions, 'log' | 'namespace'>,
): Promise<OpenedJobs> {
  const whole = { namespace: randomUUID(), log: silentLog, ...options };
  const time = realTime();
  let jobs = bullmqJobs(whole);
  const both = () => {
    const { claim, beat } = jobs;
    return relayed(store, {
      ...jobs,
      claim: (...asked) => time.leasing(claim(...asked)),
      beat: (...asked) => time.leasing(beat(...asked)),
    });
  };
  return {
    ...both(),
    ...{ time, isOneEngine: false },
    async reopen() {
      await jobs.close();
      jobs = bullmqJobs(whole);
      return both();
    },
    async close() {
      await jobs.close();
      await store.close();
    },
  };
}

/** Faults in its scripts, each with the check that is about it. */
const brokenScripts: Record<string, { script: string; from: string; to: string; breaks: string }> = {
  'never ends a lease': {
    script: 'ready',
    from: "if ARGV[4] == '1' then",
    to: 'if false then',
    breaks: 'a claimed job is nobody else’s until its lease ends, and counts its attempts',
  },
  'ends every lease': {
    script: 'ready',
    from: 'if left >= 0 then',
    to: 'if false then',
    breaks: 'a claimed job is nobody else’s until its lease ends, and counts its attempts',
  },
  'frees the jobs of every owner': {
    script: 'free',
    from: 'if owner and gone[owner] then',
    to: 'if owner then',
    breaks: 'the leases of owners that are gone end at once, and those of no other',
  },
  'leaves the lock of a cancelled job': {
    script: 'cancel',
    from: "redis.call('DEL', ARGV[1] .. id .. ':lock')",
    to: '',
    breaks: 'a cancelled job is gone for whoever has it, and only its own actor cancels it',
  },
  'leaves a cancelled job in its list': {
    script: 'cancel',
    from: "redis.call('ZREM', KEYS[2], id) == 1",
    to: 'false',
    breaks: 'totals tell of every kind how many there are, in whatever state, and since when',
  },
  'waits for its own leases': {
    script: 'next',
    from: 'elseif owner ~= ARGV[1] then',
    to: 'else',
    breaks: 'next is when something can be claimed, leases of others included',
  },
};

// Side by side, each with a name space of its own: they wait for leases to end, in real time.
describe.skipIf(redis.isMissing)('with Redis', { concurrent: true }, () => {
  const memory = () => sqliteStore({ file: ':memory:' });
  const shared = async () => (await redis.shared()).url;

  jobsConformance('sqlite and bullmq', async () => open(memory(), { url: await shared() }), [
    ...ruleChecks,
    ...pacedChecks,
  ]);
  const onRedis = async (url: string) =>
    open(redisStore({ url, namespace: `jobs-${randomUUID()}` }), { url });
  jobsConformance('redis and bullmq', async () => onRedis(await shared()), [
    ...ruleChecks,
    ...pacedChecks.slice(0, 1),
  ]);

  // Redis then refuses whatever touches keys of two slots. One node has them all, so the client needs no more.
  let cluster: Promise<string> | undefined;
  jobsConformance(
    'bullmq, where each call must stay in one slot of a cluster',
    async () => {
      cluster ??= startCluster(redis);
      return open(memory(), { url: await cluster });
    },
    ruleChecks,
  );

  const finds = (breaks: string, openBroken: () => Promise<OpenedJobs>) => {
    const check = ruleChecks.find((one) => one.name === breaks) as (typeof ruleChecks)[number];
    return expect(runCheck(check, openBroken)).rejects.toThrow(/expected/);
  };

  // BullMQ goes by a clock of its own, whatever time a claim names.
  const own = Object.keys(mutants).filter((name) => name !== 'hands a job out before its time');
  test.each(own)('the suite finds one that %s', async (name) => {
    const { breaks, mutate } = mutants[name] as (typeof mutants)[string];
    await finds(breaks, async () => {
      const opened = await open(memory(), { url: await shared() });
      return { ...opened, ...mutate(opened), reopen: async () => mutate(await opened.reopen()) };
    });
  });

  test.each(Object.keys(brokenScripts))('the suite finds one that %s', async (name) => {
    const { script, from, to, breaks } = brokenScripts[name] as (typeof brokenScripts)[string];
    const change = (one: string, text: string) => {
      if (one === script) expect(text.split(from)).toHaveLength(2);
      return one === script ? text.replace(from, to) : text;
    };
    await finds(breaks, async () => open(memory(), { url: await shared(), change }));
  });
});
