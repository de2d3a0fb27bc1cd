import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { redisStore } from '../../../runtime/drivers/store/redis/index.ts';
import type { ScriptName } from '../../../runtime/drivers/store/redis/scripts.ts';
import { engineFor } from '../../kit/engines.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { start } from '../store/fixtures.ts';
import type { OpenedJobs } from './check.ts';
import { ruleChecks } from './rule-checks.ts';
import { jobsConformance, runCheck } from './suite.ts';
import { virtualTime } from './time.ts';

const redis = await engineFor('redis');

async function open(change?: (name: ScriptName, text: string) => string): Promise<OpenedJobs> {
  const { url } = await redis.shared();
  const options = { url, namespace: `jobs-${randomUUID()}`, log: silentLog, ...(change && { change }) };
  let store = redisStore(options);
  return {
    ...{ store, jobs: store.jobs, time: virtualTime(start) },
    async reopen() {
      await store.close();
      store = redisStore(options);
      return { store, jobs: store.jobs };
    },
    close: () => store.close(),
  };
}

/** Faults in its scripts, each with the check that is about it. */
const mutants: Record<string, { script: ScriptName; from: string; to: string; breaks: string }> = {
  'never ends a lease': {
    script: 'work',
    from: "call('ZADD', ready, lease_end, member)",
    to: "call('ZREM', ready, member)",
    breaks: 'a claimed job is nobody else’s until its lease ends, and counts its attempts',
  },
  'frees the jobs of every owner': {
    script: 'work',
    from: 'if gone[leased[at + 1]] then',
    to: 'if true then',
    breaks: 'the leases of owners that are gone end at once, and those of no other',
  },
  'lets anybody finish': {
    script: 'commit',
    from: "elseif job ~= '' and (gone[job] or owner_of(job) ~= step.owner) then",
    to: 'elseif false then',
    breaks: 'an owner whose lease another has can neither finish nor put back nor keep',
  },
  'cancels jobs of other actors': {
    script: 'commit',
    from: "if call('SISMEMBER', tag .. 'jobs-of\\0' .. actor, cancel[1]) == 1 then",
    to: 'if true then',
    breaks: 'a cancelled job is gone for whoever has it, and only its own actor cancels it',
  },
  'keeps the jobs of an actor that ended': {
    script: 'commit',
    from: "for _, id in ipairs(call('SMEMBERS', tag .. 'jobs-of\\0' .. actor)) do remove_job(id) end",
    to: '',
    breaks: 'the jobs of an actor end with it, and no others',
  },
  'waits for its own leases': {
    script: 'work',
    from: '~= owner\n        if found then',
    to: '~= nil\n        if found then',
    breaks: 'next is when something can be claimed, leases of others included',
  },
};

describe.skipIf(redis.isMissing)('with Redis', () => {
  jobsConformance('redis', open);

  test.each(Object.entries(mutants))(
    'the suite finds one that %s',
    async (_, { script, from, to, breaks }) => {
      const check = ruleChecks.find((one) => one.name === breaks) as (typeof ruleChecks)[number];
      const change = (name: ScriptName, text: string) => {
        if (name !== script) return text;
        expect(text.split(from)).toHaveLength(2);
        return text.replace(from, () => to);
      };
      await expect(runCheck(check, () => open(change))).rejects.toThrow(/expected/);
    },
  );
});
