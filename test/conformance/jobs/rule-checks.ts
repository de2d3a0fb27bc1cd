import { expect } from 'vitest';
import type { JobCheck } from './check.ts';
import { begin, gone, idOf, j0, j1, j2, j3, j4, kind, late, other, own } from './fixtures.ts';

const otherKind = 'other.kind';

/** What the port promises, one promise each. Times lie so far apart that a slow machine does not matter. */
export const ruleChecks: readonly JobCheck[] = [
  {
    name: 'a job is added with its step, and not without it',
    async run(opened) {
      const { store, jobs, reopen } = opened;
      const { start, commit, job, claim } = await begin(opened);
      expect(await commit({ jobs: [job(j1)] })).toEqual({ outcome: 'ok', events: [] });
      expect(await commit({ jobs: [job(j2)], epoch: 0 })).toEqual({ outcome: 'fenced' });
      expect(await commit({ jobs: [job(j2)], sequence: 7 })).toEqual({ outcome: 'conflict' });
      await commit({ cause: 'once' });
      expect(await commit({ jobs: [job(j2)], cause: 'once' })).toMatchObject({ outcome: 'duplicate' });
      expect(await store.isConsumed('once')).toBe(true);
      expect(await jobs.totals()).toEqual([{ kind, count: 1, oldest: start }]);
      const next = await reopen();
      expect(await next.jobs.claim(kind, claim())).toEqual([
        {
          ...{ id: j1, kind, actor: 'a/1', child: 'delivery', input: `{"id":"${j1}"}` },
          ...{ addedAt: start, attempt: 1 },
        },
      ]);
    },
  },
  {
    name: 'a job that is there already is left as it is',
    async run(opened) {
      const { jobs } = opened;
      const { start, commit, job, claim } = await begin(opened);
      await commit({ jobs: [job(j1)] });
      const again = await commit({ jobs: [job(j1, { input: '"other"', due: start + 60_000 })] });
      expect(again).toEqual({ outcome: 'ok', events: [] });
      expect(await jobs.totals()).toMatchObject([{ count: 1 }]);
      expect(await jobs.claim(kind, claim())).toMatchObject([{ input: `{"id":"${j1}"}`, attempt: 1 }]);
      // Also while it is being run.
      await commit({ jobs: [job(j1)] });
      expect(await jobs.claim(kind, claim({ owner: other }))).toEqual([]);
    },
  },
  {
    name: 'a claim gives what is ready of its kind, in the order of time and adding, as much as asked',
    async run(opened) {
      const { jobs, time } = opened;
      const { start, commit, job, claim } = await begin(opened);
      const far = start + 2000;
      await commit({
        jobs: [
          ...[job(late, { due: far }), job(j2, { due: start + 10 }), job(j1), job(j3)],
          ...[job(j0, { due: start - 1 }), job(idOf('x', otherKind)), job(j4)],
        ],
      });
      await time.at(start + 10);
      const ids = async (limit: number, now: number) =>
        (await jobs.claim(kind, claim({ now, limit }))).map(({ id }) => id);
      const early = async (limit: number) => {
        const given = await ids(limit, await time.before(far));
        await time.before(far);
        return given;
      };
      expect(await early(3)).toEqual([j0, j1, j3]);
      expect(await early(100)).toEqual([j4, j2]);
      expect(await early(100)).toEqual([]);
      expect(await ids(100, await time.at(far))).toEqual([late]);
      await expect(jobs.claim(kind, claim({ limit: 0 }))).rejects.toThrow();
      await expect(jobs.claim(kind, claim({ limit: 1001 }))).rejects.toThrow();
    },
  },
  {
    name: 'jobs of one time come in the order of their adding, and those that are put back in the order of their times',
    async run(opened) {
      const { jobs, time } = opened;
      const { commit, job, claim } = await begin(opened);
      const gap = 200;
      const many = Array.from({ length: 300 }, (_, index) => idOf(`n${index}`));
      await commit({ jobs: many.map((id) => job(id)) });
      const claimed: string[] = [];
      for (let turn = 0; turn < 3; turn++)
        claimed.push(...(await jobs.claim(kind, claim({ limit: 100 }))).map(({ id }) => id));
      expect(claimed).toEqual(many);
      const back = time.now();
      for (const [index, id] of [j1, j2, j3].entries()) {
        await commit({ jobs: [job(id)] });
        await jobs.claim(kind, claim({ limit: 1 }));
        // Or it had one that was put back.
        await time.before(back + gap);
        expect(await jobs.release(own, { id, due: back + gap * (3 - index) })).toBe('ok');
      }
      await time.at(back + 3 * gap);
      expect((await jobs.claim(kind, claim())).map(({ id }) => id)).toEqual([j3, j2, j1]);
    },
  },
  {
    name: 'a claimed job is nobody else’s until its lease ends, and counts its attempts',
    async run(opened) {
      const { jobs, time, reopen } = opened;
      const { commit, job, claim } = await begin(opened);
      await commit({ jobs: [job(j1)] });
      const end = time.now() + 2000;
      await jobs.claim(kind, claim({ until: end }));
      expect(await jobs.claim(kind, claim({ now: await time.before(end), owner: other }))).toEqual([]);
      const next = await reopen();
      expect(await next.jobs.claim(kind, claim({ now: await time.before(end), owner: other }))).toEqual([]);
      const again = await next.jobs.claim(kind, claim({ now: await time.at(end), owner: other }));
      expect(again).toMatchObject([{ id: j1, attempt: 2 }]);
    },
  },
  {
    name: 'a beat keeps leases, and names those that are lost',
    async run(opened) {
      const { jobs, time } = opened;
      const { start, commit, job, claim } = await begin(opened);
      await commit({ jobs: [job(j1), job(j2), job(j3), job(idOf('x', otherKind))] });
      const end = start + 2000;
      await jobs.claim(kind, claim({ until: end, limit: 2 }));
      await jobs.claim(otherKind, claim({ until: end }));
      await jobs.claim(kind, claim({ until: end, owner: other }));
      const until = start + 60_000;
      expect(await jobs.beat(own, [])).toEqual([]);
      await time.before(end);
      const lost = await jobs.beat(own, [
        { id: j1, until },
        { id: idOf('x', otherKind), until: end + 100 },
        { id: j3, until },
        { id: gone, until },
      ]);
      await time.before(end);
      expect(lost).toEqual([j3, gone]);
      const taken = await jobs.claim(kind, claim({ now: await time.at(end), owner: other }));
      expect(taken.map(({ id }) => id).sort()).toEqual([j2, j3]);
      expect(await jobs.beat(own, [{ id: j2, until }])).toEqual([j2]);
      const others = await jobs.claim(otherKind, claim({ now: await time.at(end + 100), owner: other }));
      expect(others).toMatchObject([{ attempt: 2 }]);
    },
  },
  {
    name: 'a job that is put back waits for its time, and an uncounted attempt is taken back',
    async run(opened) {
      const { jobs, time } = opened;
      const { start, commit, job, claim } = await begin(opened);
      await commit({ jobs: [job(j1)] });
      await jobs.claim(kind, claim());
      expect(await jobs.release(other, { id: j1, due: start })).toBe('lost');
      expect(await jobs.release(own, { id: gone, due: start })).toBe('lost');
      const due = time.now() + 2000;
      expect(await jobs.release(own, { id: j1, due })).toBe('ok');
      expect(await jobs.release(own, { id: j1, due: start })).toBe('lost');
      expect(await jobs.claim(kind, claim({ now: await time.before(due) }))).toEqual([]);
      expect(await jobs.claim(kind, claim({ now: await time.at(due) }))).toMatchObject([{ attempt: 2 }]);
      expect(await jobs.release(own, { id: j1, due: start, isUncounted: true })).toBe('ok');
      expect(await jobs.claim(kind, claim())).toMatchObject([{ attempt: 2 }]);
    },
  },
  {
    name: 'a step finishes a job together with its own writes, or not at all',
    async run(opened) {
      const { store, jobs, time } = opened;
      const { commit, job, claim } = await begin(opened);
      await commit({ jobs: [job(j1)] });
      const finish = { id: j1, owner: own };
      expect(await commit({ finish, jobs: [job(j2)] })).toEqual({ outcome: 'lost' });
      const end = time.now() + 2000;
      await jobs.claim(kind, claim({ until: end }));
      expect(await commit({ finish, sequence: 9 })).toEqual({ outcome: 'conflict' });
      await time.before(end);
      expect(await jobs.beat(own, [{ id: j1, until: end }])).toEqual([]);
      const done = { finish, jobs: [job(j2)], cause: 'j-done' };
      expect(await commit(done)).toMatchObject({ outcome: 'ok' });
      // The job is there once, so nothing else must remember the cause.
      expect(await store.isConsumed('j-done')).toBe(false);
      expect((await store.load('a/1'))?.sequence).toBe(2);
      expect(await jobs.totals()).toMatchObject([{ count: 1 }]);
      expect(await jobs.claim(kind, claim({ now: await time.at(end) }))).toMatchObject([{ id: j2 }]);
    },
  },
  {
    name: 'an owner whose lease another has can neither finish nor put back nor keep',
    async run(opened) {
      const { store, jobs, time } = opened;
      const { start, commit, job, claim } = await begin(opened);
      await commit({ jobs: [job(j1)] });
      await jobs.claim(kind, claim({ until: start + 10 }));
      const taken = await time.at(start + 10);
      expect(await jobs.claim(kind, claim({ now: taken, owner: other }))).toHaveLength(1);
      expect(await commit({ finish: { id: j1, owner: own } })).toEqual({ outcome: 'lost' });
      expect((await store.load('a/1'))?.sequence).toBe(1);
      expect(await jobs.finish(own, j1)).toBe('lost');
      expect(await jobs.release(own, { id: j1, due: start })).toBe('lost');
      expect(await jobs.beat(own, [{ id: j1, until: taken + 60_000 }])).toEqual([j1]);
      expect(await commit({ finish: { id: j1, owner: other } })).toMatchObject({ outcome: 'ok' });
      expect(await jobs.totals()).toEqual([]);
    },
  },
  {
    name: 'a cancelled job is gone for whoever has it, and only its own actor cancels it',
    async run(opened) {
      const { jobs, time } = opened;
      const { start, commit, job, claim } = await begin(opened);
      const until = start + 2000;
      await commit({ jobs: [job(j1), job(j2), job(j3, { due: until })] });
      await jobs.claim(kind, claim({ limit: 1, until }));
      expect(await commit({ cancels: [j1] }, 'a/2')).toMatchObject({ outcome: 'ok' });
      expect(await jobs.totals()).toMatchObject([{ count: 3 }]);
      expect(await commit({ cancels: [j1, j2, j3, gone] })).toMatchObject({ outcome: 'ok' });
      expect(await jobs.beat(own, [{ id: j1, until: start + 60_000 }])).toEqual([j1]);
      // Or that is for its lease having ended.
      await time.before(until);
      expect(await commit({ finish: { id: j1, owner: own } })).toEqual({ outcome: 'lost' });
      expect(await jobs.totals()).toEqual([]);
      expect(await jobs.claim(kind, claim({ now: await time.at(until) }))).toEqual([]);
    },
  },
  {
    name: 'the jobs of an actor end with it, and no others',
    async run(opened) {
      const { jobs } = opened;
      const { start, commit, job, claim } = await begin(opened);
      await commit({ jobs: [job(j1), job(idOf('j2', otherKind))] });
      await commit({ jobs: [job(j3)] }, 'a/2');
      await commit({ state: null });
      expect(await jobs.totals()).toEqual([{ kind, count: 1, oldest: start }]);
      expect(await jobs.claim(kind, claim())).toMatchObject([{ id: j3, actor: 'a/2' }]);
    },
  },
  {
    name: 'a job without a waiting actor is finished by its owner alone',
    async run(opened) {
      const { jobs } = opened;
      const { commit, job, claim } = await begin(opened);
      await commit({ jobs: [job(j1)] });
      expect(await jobs.finish(own, j1)).toBe('lost');
      await jobs.claim(kind, claim());
      expect(await jobs.finish(other, j1)).toBe('lost');
      expect(await jobs.finish(own, j1)).toBe('ok');
      expect(await jobs.finish(own, j1)).toBe('lost');
      expect(await jobs.totals()).toEqual([]);
    },
  },
  {
    name: 'totals tell of every kind how many there are, in whatever state, and since when',
    async run(opened) {
      const { jobs, time } = opened;
      const { start, commit, job, claim } = await begin(opened);
      const x = idOf('x', otherKind);
      await commit({ jobs: [job(j1), job(x, { due: start + 60_000 })], at: start - 3000 });
      await commit({ jobs: [job(j2), job(j3)], at: start - 2000 });
      const [first] = await jobs.claim(kind, claim({ limit: 1 }));
      expect(first?.id).toBe(j1);
      await jobs.claim(kind, claim({ limit: 1 }));
      await jobs.release(own, { id: j2, due: time.now() + 60_000 });
      const others = { kind: otherKind, count: 1, oldest: start - 3000 };
      expect(await jobs.totals()).toEqual([others, { kind, count: 3, oldest: start - 3000 }]);
      await jobs.finish(own, j1);
      expect(await jobs.totals()).toEqual([others, { kind, count: 2, oldest: start - 2000 }]);
      await commit({ cancels: [x, j2] });
      expect(await jobs.totals()).toEqual([{ kind, count: 1, oldest: start - 2000 }]);
    },
  },
  {
    name: 'next is when something can be claimed, the end of a lease included',
    async run(opened) {
      const { jobs } = opened;
      const { start, commit, job, claim } = await begin(opened);
      expect(await jobs.next([kind])).toBeUndefined();
      const x = idOf('x', otherKind);
      await commit({ jobs: [job(j1), job(j2, { due: start + 70_000 }), job(x, { due: start + 9000 })] });
      expect(await jobs.next([kind])).toBe(start);
      await jobs.claim(kind, claim({ until: start + 50_000 }));
      expect(await jobs.next([kind])).toBe(start + 50_000);
      expect(await jobs.next([kind, otherKind])).toBe(start + 9000);
      expect(await jobs.next([])).toBeUndefined();
      await jobs.beat(own, [{ id: j1, until: start + 60_000 }]);
      expect(await jobs.next([kind])).toBe(start + 60_000);
      await jobs.finish(own, j1);
      expect(await jobs.next([kind])).toBe(start + 70_000);
    },
  },
  {
    name: 'the leases of owners that are gone end at once, and those of no other',
    async run(opened) {
      const { jobs, time, reopen } = opened;
      const { commit, job, claim } = await begin(opened);
      await commit({ jobs: [job(j1), job(j2), job(j3), job(j4)] });
      const owners = ['node-1/a', 'node-1/b', 'node-10/a', 'node-1/deeper/a'];
      for (const owner of owners) await jobs.claim(kind, claim({ owner, limit: 1 }));
      const next = await reopen();
      expect((await next.jobs.owners('node-1')).sort()).toEqual(['node-1/a', 'node-1/b']);
      expect(await next.jobs.owners('node-1/deeper')).toEqual(['node-1/deeper/a']);
      expect(await next.jobs.free(['node-1/a', 'node-1/gone'], time.now())).toBe(1);
      expect(await next.jobs.free(['node-1/a'], time.now())).toBe(0);
      expect(await next.jobs.free([], time.now())).toBe(0);
      expect(await next.jobs.owners('node-1')).toEqual(['node-1/b']);
      const ready = await next.jobs.claim(kind, claim({ owner: 'node-1/b' }));
      expect(ready).toMatchObject([{ id: j1, attempt: 2 }]);
      expect(await next.jobs.finish('node-1/a', j1)).toBe('lost');
      // One that lives on hears of it at its next beat, and its result is refused.
      expect(await next.jobs.beat('node-1/a', [{ id: j1, until: time.now() + 60_000 }])).toEqual([j1]);
    },
  },
];
