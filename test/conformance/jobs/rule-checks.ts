import { expect } from 'vitest';
import { start } from '../store/fixtures.ts';
import type { JobCheck } from './check.ts';
import { claim, job, kind, other, own, steps } from './fixtures.ts';

/** What the port promises, one promise each. */
export const ruleChecks: readonly JobCheck[] = [
  {
    name: 'a job is added with its step, and not without it',
    async run({ store, jobs, reopen }) {
      const { commit } = await steps(store);
      expect(await commit({ jobs: [job('j1')] })).toEqual({ outcome: 'ok', events: [] });
      expect(await commit({ jobs: [job('j2')], epoch: 0 })).toEqual({ outcome: 'fenced' });
      expect(await commit({ jobs: [job('j2')], sequence: 7 })).toEqual({ outcome: 'conflict' });
      await commit({ cause: 'once' });
      expect(await commit({ jobs: [job('j2')], cause: 'once' })).toMatchObject({ outcome: 'duplicate' });
      expect(await jobs.totals()).toEqual([{ kind, count: 1, oldest: start }]);
      const next = await reopen();
      expect(await next.jobs.claim(kind, claim(start))).toEqual([
        {
          ...{ id: 'j1', kind, actor: 'a/1', child: 'delivery', input: '{"id":"j1"}' },
          ...{ addedAt: start, attempt: 1 },
        },
      ]);
    },
  },
  {
    name: 'a job that is there already is left as it is',
    async run({ store, jobs }) {
      const { commit } = await steps(store);
      await commit({ jobs: [job('j1')] });
      const lease = { owner: other, until: start + 1000 };
      const again = await commit({ jobs: [job('j1', { input: '"other"', due: start + 5, lease })] });
      expect(again).toEqual({ outcome: 'ok', events: [] });
      expect(await jobs.totals()).toMatchObject([{ count: 1 }]);
      expect(await jobs.claim(kind, claim(start))).toMatchObject([{ input: '{"id":"j1"}', attempt: 1 }]);
    },
  },
  {
    name: 'a claim gives what is ready of its kind, in the order of time and adding, as much as asked',
    async run({ store, jobs }) {
      const { commit } = await steps(store);
      await commit({
        jobs: [
          ...[job('late', { due: start + 50 }), job('j2', { due: start + 10 }), job('j1'), job('j3')],
          ...[job('j0', { due: start - 1 }), job('x', { kind: 'other.kind' }), job('j4')],
        ],
      });
      const ids = async (limit: number, now = start + 49) =>
        (await jobs.claim(kind, claim(now, { limit }))).map(({ id }) => id);
      expect(await ids(3)).toEqual(['j0', 'j1', 'j3']);
      expect(await ids(100)).toEqual(['j4', 'j2']);
      expect(await ids(100)).toEqual([]);
      expect(await ids(100, start + 50)).toEqual(['late']);
      await expect(jobs.claim(kind, claim(start, { limit: 0 }))).rejects.toThrow();
      await expect(jobs.claim(kind, claim(start, { limit: 1001 }))).rejects.toThrow();
    },
  },
  {
    name: 'a claimed job is nobody else’s until its lease ends, and counts its attempts',
    async run({ store, jobs, reopen }) {
      const { commit } = await steps(store);
      await commit({ jobs: [job('j1')] });
      await jobs.claim(kind, claim(start, { until: start + 1000 }));
      expect(await jobs.claim(kind, claim(start + 999, { owner: other }))).toEqual([]);
      const next = await reopen();
      expect(await next.jobs.claim(kind, claim(start + 999, { owner: other }))).toEqual([]);
      const late = await next.jobs.claim(kind, claim(start + 1000, { owner: other }));
      expect(late).toMatchObject([{ id: 'j1', attempt: 2 }]);
    },
  },
  {
    name: 'a job that is wanted at once is leased with its step',
    async run({ store, jobs }) {
      const { commit } = await steps(store);
      const lease = { owner: own, until: start + 1000 };
      const added = await commit({ jobs: [job('j1', { lease }), job('j2')] });
      // A driver may not be able to, and says so.
      const claimed = added.outcome === 'ok' && added.claimed ? added.claimed : [];
      const left = await jobs.claim(kind, claim(start, { owner: other }));
      expect([...claimed, ...left.map(({ id }) => id)].sort()).toEqual(['j1', 'j2']);
      if (claimed.length === 0) return;
      expect(await jobs.beat(own, [{ id: 'j1', until: start + 1000 }])).toEqual([]);
      const late = await jobs.claim(kind, claim(start + 1000, { owner: other }));
      expect(late).toMatchObject([{ id: 'j1', attempt: 2 }]);
    },
  },
  {
    name: 'a beat keeps leases, and names those that are lost',
    async run({ store, jobs }) {
      const { commit } = await steps(store);
      await commit({ jobs: [job('j1'), job('j2'), job('j3')] });
      await jobs.claim(kind, claim(start, { until: start + 1000, limit: 2 }));
      await jobs.claim(kind, claim(start, { until: start + 1000, owner: other }));
      const until = start + 5000;
      expect(await jobs.beat(own, [])).toEqual([]);
      const lost = await jobs.beat(own, [
        { id: 'j1', until },
        { id: 'j3', until },
        { id: 'gone', until },
      ]);
      expect(lost).toEqual(['j3', 'gone']);
      const taken = await jobs.claim(kind, claim(start + 1000, { owner: other }));
      expect(taken.map(({ id }) => id).sort()).toEqual(['j2', 'j3']);
      expect(await jobs.beat(own, [{ id: 'j2', until }])).toEqual(['j2']);
    },
  },
  {
    name: 'a job that is put back waits for its time, and an uncounted attempt is taken back',
    async run({ store, jobs }) {
      const { commit } = await steps(store);
      await commit({ jobs: [job('j1')] });
      await jobs.claim(kind, claim(start));
      expect(await jobs.release(other, { id: 'j1', due: start })).toBe('lost');
      expect(await jobs.release(own, { id: 'gone', due: start })).toBe('lost');
      expect(await jobs.release(own, { id: 'j1', due: start + 100 })).toBe('ok');
      expect(await jobs.release(own, { id: 'j1', due: start })).toBe('lost');
      expect(await jobs.claim(kind, claim(start + 99))).toEqual([]);
      expect(await jobs.claim(kind, claim(start + 100))).toMatchObject([{ attempt: 2 }]);
      expect(await jobs.release(own, { id: 'j1', due: start, isUncounted: true })).toBe('ok');
      expect(await jobs.claim(kind, claim(start + 100))).toMatchObject([{ attempt: 2 }]);
    },
  },
  {
    name: 'a step finishes a job together with its own writes, or not at all',
    async run({ store, jobs }) {
      const { commit } = await steps(store);
      await commit({ jobs: [job('j1')] });
      const finish = { id: 'j1', owner: own };
      expect(await commit({ finish, jobs: [job('j2')] })).toEqual({ outcome: 'lost' });
      await jobs.claim(kind, claim(start));
      expect(await commit({ finish, sequence: 9 })).toEqual({ outcome: 'conflict' });
      expect(await jobs.beat(own, [{ id: 'j1', until: start + 9 }])).toEqual([]);
      const done = { finish, jobs: [job('j2')], cause: 'j-done' };
      expect(await commit(done)).toMatchObject({ outcome: 'ok' });
      expect(await store.isConsumed('j-done')).toBe(false);
      expect((await store.load('a/1'))?.sequence).toBe(2);
      expect(await jobs.totals()).toMatchObject([{ count: 1 }]);
      expect(await jobs.claim(kind, claim(start + 100_000))).toMatchObject([{ id: 'j2' }]);
    },
  },
  {
    name: 'an owner whose lease another has can neither finish nor put back nor keep',
    async run({ store, jobs }) {
      const { commit } = await steps(store);
      await commit({ jobs: [job('j1')] });
      await jobs.claim(kind, claim(start, { until: start + 10 }));
      await jobs.claim(kind, claim(start + 10, { owner: other }));
      expect(await commit({ finish: { id: 'j1', owner: own } })).toEqual({ outcome: 'lost' });
      expect((await store.load('a/1'))?.sequence).toBe(1);
      expect(await jobs.finish(own, 'j1')).toBe('lost');
      expect(await jobs.release(own, { id: 'j1', due: start })).toBe('lost');
      expect(await jobs.beat(own, [{ id: 'j1', until: start + 99 }])).toEqual(['j1']);
      expect(await commit({ finish: { id: 'j1', owner: other } })).toMatchObject({ outcome: 'ok' });
      expect(await jobs.totals()).toEqual([]);
    },
  },
  {
    name: 'a cancelled job is gone for whoever has it, and only its own actor cancels it',
    async run({ store, jobs }) {
      const { commit } = await steps(store);
      await commit({ jobs: [job('j1'), job('j2')] });
      await jobs.claim(kind, claim(start, { limit: 1 }));
      expect(await commit({ cancels: ['j1'] }, 'a/2')).toMatchObject({ outcome: 'ok' });
      expect(await jobs.totals()).toMatchObject([{ count: 2 }]);
      expect(await commit({ cancels: ['j1', 'j2', 'unknown'] })).toMatchObject({ outcome: 'ok' });
      expect(await jobs.beat(own, [{ id: 'j1', until: start }])).toEqual(['j1']);
      expect(await commit({ finish: { id: 'j1', owner: own } })).toEqual({ outcome: 'lost' });
      expect(await jobs.totals()).toEqual([]);
      expect(await jobs.claim(kind, claim(start + 100_000))).toEqual([]);
    },
  },
  {
    name: 'the jobs of an actor end with it, and no others',
    async run({ store, jobs }) {
      const { commit } = await steps(store);
      await commit({ jobs: [job('j1'), job('j2', { kind: 'other.kind' })] });
      await commit({ jobs: [job('j3')] }, 'a/2');
      await commit({ state: null });
      expect(await jobs.totals()).toEqual([{ kind, count: 1, oldest: start }]);
      expect(await jobs.claim(kind, claim(start))).toMatchObject([{ id: 'j3', actor: 'a/2' }]);
    },
  },
  {
    name: 'a job without a waiting actor is finished by its owner alone',
    async run({ store, jobs }) {
      const { commit } = await steps(store);
      await commit({ jobs: [job('j1')] });
      expect(await jobs.finish(own, 'j1')).toBe('lost');
      await jobs.claim(kind, claim(start));
      expect(await jobs.finish(other, 'j1')).toBe('lost');
      expect(await jobs.finish(own, 'j1')).toBe('ok');
      expect(await jobs.finish(own, 'j1')).toBe('lost');
      expect(await jobs.totals()).toEqual([]);
    },
  },
  {
    name: 'next is when something can be claimed, leases of others included',
    async run({ store, jobs }) {
      const { commit } = await steps(store);
      expect(await jobs.next([kind], own)).toBeUndefined();
      const late = job('j2', { due: start + 70 });
      await commit({ jobs: [job('j1'), late, job('x', { kind: 'other.kind', due: start + 9 })] });
      expect(await jobs.next([kind], own)).toBe(start);
      await jobs.claim(kind, claim(start, { until: start + 50 }));
      expect(await jobs.next([kind], own)).toBe(start + 70);
      expect(await jobs.next([kind], other)).toBe(start + 50);
      expect(await jobs.next([kind, 'other.kind'], other)).toBe(start + 9);
      expect(await jobs.next([], own)).toBeUndefined();
    },
  },
  {
    name: 'a process that starts again ends the leases of those before it, and of no other node',
    async run({ store, jobs, reopen }) {
      const { commit } = await steps(store);
      await commit({ jobs: [job('j1'), job('j2'), job('j3'), job('j4')] });
      const owners = ['node-1/a', 'node-1/b', 'node-10/a', 'node-1/deeper/a'];
      for (const owner of owners) await jobs.claim(kind, claim(start, { owner, limit: 1 }));
      const next = await reopen();
      expect(await next.jobs.takeOver('node-1/b', start + 5)).toBe(1);
      const ready = await next.jobs.claim(kind, claim(start + 5, { owner: 'node-1/b' }));
      expect(ready).toMatchObject([{ id: 'j1', attempt: 2 }]);
    },
  },
];
