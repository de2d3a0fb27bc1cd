import { expect } from 'vitest';
import type { BatchOutcome, BatchStep, CommitOutcome, Lease, Store } from '../../../core/ports/store.ts';
import type { Check } from './check.ts';
import { batch, bothLives, event, row, start, step } from './fixtures.ts';

const order = { id: 'cause/0/close', type: 'close', body: '{}' };

/** Partitions with several owners, and the command log that they are filled from. */
export const partitionChecks: readonly Check[] = [
  {
    name: 'some partitions are acquired alone, and the others keep their owner',
    async run({ store, reopen }) {
      const [zero, one, two] = await leasesOf(store, 3);
      const [taken, ...more] = await (await reopen()).acquire(3, { partitions: [1, 7] });
      expect(more).toEqual([]);
      expect(taken).toEqual({ partition: 1, epoch: one.epoch + 1, counter: 0, offset: -1 });
      const next = await reopen();
      const outcomes = [zero, one, two].map((lease) =>
        next.commit(step(lease, { actor: `a/${lease.partition}` })),
      );
      expect((await Promise.all(outcomes)).map(({ outcome }) => outcome)).toEqual(['ok', 'fenced', 'ok']);
      expect(await next.acquire(3, { partitions: [] })).toEqual([]);
    },
  },
  {
    name: 'data that was filled from one command log is refused with another',
    async run({ store, reopen }) {
      await store.acquire(2);
      const [lease] = await store.acquire(2, { log: 'one' });
      await expect(store.acquire(2, { log: 'other' })).rejects.toMatchObject({ code: 'store.log' });
      const next = await reopen();
      await expect(next.acquire(2, { partitions: [1], log: 'other' })).rejects.toMatchObject({
        ...{ name: 'Fault', code: 'store.log', message: expect.stringMatching(/one.*other/) },
      });
      // Who names none has none, and nothing was taken over meanwhile.
      expect((await next.acquire(2))[0]?.epoch).toBe((lease?.epoch ?? 0) + 1);
      expect(await next.acquire(2, { log: 'one' })).toHaveLength(2);
    },
  },
  {
    name: 'a batch moves the offset of its partition, and that lasts',
    async run({ store, reopen }) {
      const [zero, one] = await leasesOf(store, 2);
      expect([zero.offset, one.offset]).toEqual([-1, -1]);
      await ok(store.commitAll(batch(one, { from: -1, to: 4, steps: [{ isLogged: true }] })));
      await ok(store.commitAll(batch(one, { from: 4, to: 4, steps: [{ sequence: 1 }] })));
      await ok(store.commitAll(batch(one, { from: 4, to: 9, steps: [{ sequence: 2 }] })));
      await ok(store.commit(step(one, { sequence: 3 })));
      const offsets = async (of: Store) => (await of.acquire(2)).map(({ offset }) => offset);
      expect(await offsets(store)).toEqual([-1, 9]);
      expect(await offsets(await reopen())).toEqual([-1, 9]);
    },
  },
  {
    name: 'where the log is consumed decides over a batch, in every combination',
    async run({ store }) {
      const [lease] = await leasesOf(store, 1);
      await ok(store.commitAll(batch(lease, { from: -1, to: 10 })));
      // [from, to] and what is answered while 10 is stored.
      const cases: [number, number, BatchOutcome['outcome']][] = [
        ...(
          [
            [-1, 0],
            [9, 10],
            [3, 10],
          ] as const
        ).map(([from, to]) => [from, to, 'duplicate'] as [number, number, 'duplicate']),
        ...(
          [
            [9, 11],
            [11, 12],
            [11, 11],
            [9, 9],
            [-1, -1],
          ] as const
        ).map(([from, to]) => [from, to, 'gap'] as [number, number, 'gap']),
      ];
      for (const [index, [from, to, outcome]] of cases.entries()) {
        const expected = outcome === 'gap' ? { outcome, offset: 10 } : { outcome };
        const parts: Partial<BatchStep> = {
          ...{ actor: `a/${index}`, rows: [row()], events: [event('e1')], orders: [order] },
          ...{ cause: `case-${index}`, timers: [{ name: 't', due: 1 }] },
        };
        for (const steps of [[parts], []]) {
          const answer = await store.commitAll(batch(lease, { from, to, steps }));
          expect({ from, to, ...answer }).toEqual({ from, to, ...expected });
        }
        expect(await store.isConsumed(`case-${index}`)).toBe(false);
      }
      expect(await store.resources.get('stream', 's1')).toBeUndefined();
      expect([await store.timers(), await store.orders(), await store.events.last()]).toEqual([[], [], 0]);
      expect((await store.acquire(1))[0]?.offset).toBe(10);
    },
  },
  {
    name: 'the epoch is looked at before the log, the log before the steps',
    async run({ store }) {
      const [former] = await leasesOf(store, 1);
      const [lease] = await leasesOf(store, 1);
      const whole = { from: -1, to: 5, steps: [{ cause: 'c' }] };
      await ok(store.commitAll(batch(lease, whole)));
      expect(await store.commitAll(batch(former, whole))).toEqual({ outcome: 'fenced' });
      expect(await store.commitAll(batch(former, { from: 5, to: 6 }))).toEqual({ outcome: 'fenced' });
      expect(await store.commitAll(batch(lease, whole))).toEqual({ outcome: 'duplicate' });
      expect(await store.commitAll(batch(lease, { ...whole, from: 6, to: 7 }))).toEqual({
        outcome: 'gap',
        offset: 5,
      });
      const again = { from: 5, to: 6, steps: [{ cause: 'c', sequence: 9 }] };
      expect(await store.commitAll(batch(lease, again))).toEqual(refused(0, 'duplicate'));
    },
  },
  {
    name: 'the steps of a batch are written together or not at all',
    async run({ store, reopen }) {
      const [lease] = await leasesOf(store, 1);
      await ok(store.commit(step(lease, { actor: 'a/ended', state: null })));
      await ok(store.commit(step(lease, { cause: 'known', actor: 'a/known' })));
      const good = (n: number): Partial<BatchStep> => ({
        ...{
          actor: `a/${n}`,
          rows: [row({ id: `s${n}`, indexes: { key: `k${n}` } })],
          events: [event(`e${n}`)],
        },
        ...{ cause: `good-${n}`, timers: [{ name: 't', due: start }], orders: [{ ...order, id: `o${n}` }] },
        jobs: [{ id: `good-${n}/0/work`, kind: 'work', child: 'c', input: '{}', due: start }],
      });
      const bad: [Partial<BatchStep>, 'duplicate' | 'lost' | 'conflict'][] = [
        [{ cause: 'known', actor: 'a/9' }, 'duplicate'],
        [{ cause: 'good-1', actor: 'a/9' }, 'duplicate'],
        [{ actor: 'a/9', finish: { id: 'none/0/work', owner: 'n/1' } }, 'lost'],
        [{ actor: 'a/9', finish: { id: 'good-1/0/work', owner: 'n/1' } }, 'lost'],
        [{ actor: 'a/9', sequence: 1 }, 'conflict'],
        [{ actor: 'a/1' }, 'conflict'],
        [{ actor: 'a/ended' }, 'conflict'],
      ];
      for (const [step, why] of bad) {
        const steps = [good(1), good(2), step, good(3)];
        expect(await store.commitAll(batch(lease, { from: -1, to: 3, steps }))).toEqual(refused(2, why));
      }
      const names = ['a/1', 'a/2', 'a/3', 'a/9', 'a/ended'];
      expect(await store.loadAll(names, ['good-1', 'known'])).toEqual({
        actors: new Map([['a/ended', null]]),
        consumed: new Set(['known']),
      });
      expect([await store.timers(), await store.orders(), await store.events.last()]).toEqual([[], [], 0]);
      expect(await store.resources.count('stream', {})).toBe(0);
      // As they stand after those before them: the same actor, also ended, and a job that the batch adds and cancels.
      const steps: Partial<BatchStep>[] = [
        good(1),
        { actor: 'a/1', sequence: 1, cancels: ['good-1/0/work'], timers: [{ name: 't', due: null }] },
        good(2),
        { actor: 'a/2', sequence: 1, state: null, events: [event('e2b')] },
        good(3),
      ];
      expect(await store.commitAll(batch(lease, { from: -1, to: 3, steps }))).toEqual({
        outcome: 'ok',
        events: [1, 2, 3, 4],
      });
      for await (const current of bothLives({ store, reopen })) {
        const { actors, consumed } = await current.loadAll([...names, 'a/never'], ['good-3', 'never']);
        expect([...actors].map(([name, actor]) => [name, actor?.sequence])).toEqual([
          ['a/1', 2],
          ['a/2', undefined],
          ['a/3', 1],
          ['a/ended', undefined],
        ]);
        expect(consumed).toEqual(new Set(['good-3']));
        expect((await current.timers()).map(({ actor }) => actor)).toEqual(['a/3']);
        expect((await current.orders()).map(({ id }) => id)).toEqual(['o1', 'o2', 'o3']);
        expect((await current.events.after(0, { limit: 9 })).map(({ id }) => id)).toEqual([
          'e1',
          'e2',
          'e2b',
          'e3',
        ]);
        expect(await current.loadAll([], [])).toEqual({ actors: new Map(), consumed: new Set() });
      }
      const again = batch(lease, { from: 3, to: 3, steps: [{ actor: 'a/2' }] });
      expect(await (await reopen()).commitAll(again)).toEqual(refused(0, 'conflict'));
    },
  },
  {
    name: 'a cause that is a place on the log is not remembered, any other is',
    async run({ store }) {
      const [lease] = await leasesOf(store, 1);
      const steps = [
        { cause: 'm0.0', isLogged: true },
        { cause: 'timer', sequence: 1 },
      ];
      await ok(store.commitAll(batch(lease, { from: -1, to: 0, steps })));
      await ok(store.commit(step(lease, { sequence: 2, cause: 'd0.1', counter: 1 })));
      const consumed = await Promise.all(['m0.0', 'timer', 'd0.1'].map((cause) => store.isConsumed(cause)));
      expect(consumed).toEqual([false, true, false]);
      expect((await store.acquire(1))[0]).toMatchObject({ counter: 1, offset: 0 });
    },
  },
  {
    name: 'a batch without steps moves the offset alone',
    async run({ store, reopen }) {
      const [zero, one] = await leasesOf(store, 2);
      expect(await store.commitAll(batch(one, { from: -1, to: 41 }))).toEqual({ outcome: 'ok', events: [] });
      expect(await store.commitAll(batch(one, { from: 41, to: 41 }))).toMatchObject({ outcome: 'ok' });
      const elsewhere = batch({ ...zero, partition: 2 }, { from: -1, to: 1 });
      expect(await store.commitAll(elsewhere)).toEqual({ outcome: 'fenced' });
      const next = await reopen();
      expect((await next.acquire(2)).map(({ offset }) => offset)).toEqual([-1, 41]);
    },
  },
  {
    name: 'timers and orders are told for the partitions that are asked for',
    async run({ store, reopen }) {
      const leases = await leasesOf(store, 3);
      for (const lease of leases) {
        const { partition } = lease;
        await ok(
          store.commit(
            step(lease, {
              actor: `a/${partition}`,
              timers: [{ name: 't', due: start - partition }],
              orders: [
                { ...order, id: `o${partition}z` },
                { ...order, id: `o${partition}a` },
              ],
            }),
          ),
        );
      }
      for await (const current of bothLives({ store, reopen })) {
        const timers = async (some?: number[]) => (await current.timers(some)).map(({ actor }) => actor);
        const orders = async (some?: number[]) => (await current.orders(some)).map(({ id }) => id);
        expect(await timers()).toEqual(['a/2', 'a/1', 'a/0']);
        expect(await timers([0, 2])).toEqual(['a/2', 'a/0']);
        expect(await timers([])).toEqual([]);
        expect((await orders()).toSorted()).toEqual(['o0a', 'o0z', 'o1a', 'o1z', 'o2a', 'o2z']);
        expect(await orders([1])).toEqual(['o1z', 'o1a']);
        expect(await orders([])).toEqual([]);
      }
      const next = await reopen();
      await next.acknowledge(['o1z', 'o2a', 'o0a']);
      expect(await next.orders([1])).toEqual([{ ...order, id: 'o1a' }]);
      expect(await next.orders([2])).toEqual([{ ...order, id: 'o2z' }]);
    },
  },
  {
    name: 'rows of all partitions and plain ones stand in the same lists',
    async run({ store, reopen }) {
      const leases = await leasesOf(store, 3);
      const one = (id: string, createdAt: number) =>
        row({ id, createdAt, name: `n${id}`, indexes: { tag: 'x', own: id } });
      for (const lease of leases) {
        const { partition } = lease;
        const rows = [one(`a${partition}`, start + partition), one(`b${partition}`, start - partition)];
        await ok(store.commit(step(lease, { actor: `a/${partition}`, rows })));
      }
      await store.write({ at: start, events: [], rows: [{ ...one('plain', start + 1), revision: 0 }] });
      const all = ['a2', 'plain', 'a1', 'b0', 'a0', 'b1', 'b2'];
      for await (const { resources } of bothLives({ store, reopen })) {
        const ids = async (query: object) =>
          (await resources.list('stream', { limit: 9, ...query })).map(({ id }) => id);
        expect(await ids({})).toEqual(all);
        expect(await ids({ account: 'main', where: { tag: 'x' }, limit: 3 })).toEqual(all.slice(0, 3));
        expect(await ids({ after: { createdAt: start + 1, id: 'a1' } })).toEqual(all.slice(3));
        const byName = [{ by: 'name', descending: false }];
        expect(await ids({ account: 'main', order: byName })).toEqual(all.toSorted());
        expect(await resources.count('stream', { where: { tag: 'x' } })).toBe(7);
        for (const id of all) {
          expect((await resources.get('stream', id))?.name).toBe(`n${id}`);
          expect((await resources.find('stream', 'own', id))?.id).toBe(id);
        }
        expect((await resources.find('stream', 'tag', 'x'))?.id).toBe('a2');
        expect((await resources.find('stream', 'own', 'plain'))?.id).toBe('plain');
      }
    },
  },
  {
    name: 'a write also deletes rows that steps wrote, by compare-and-set',
    async run({ store }) {
      const leases = await leasesOf(store, 3);
      for (const lease of leases) {
        const { partition } = lease;
        const rows = [row({ id: `s${partition}`, indexes: { key: `k${partition}` } })];
        await ok(store.commit(step(lease, { actor: `a/${partition}`, rows })));
      }
      await store.write({ at: start, events: [], rows: [{ ...row({ id: 'plain' }), revision: 0 }] });
      const gone = (id: string, revision: number) => ({ ...row({ id, body: null }), revision });
      const remove = (...rows: ReturnType<typeof gone>[]) =>
        store.write({ at: start, rows, events: [event(`${rows.length}`)] });
      expect(await remove(gone('s0', 1), gone('s1', 2))).toEqual({ outcome: 'conflict' });
      expect(await remove(gone('s0', 1), gone('never', 1))).toEqual({ outcome: 'conflict' });
      expect(await store.resources.count('stream', {})).toBe(4);
      expect(await store.events.last()).toBe(0);
      expect(await remove(gone('s0', 1), gone('plain', 1), gone('s2', 1))).toMatchObject({
        ...{ outcome: 'ok', events: [1] },
      });
      expect((await store.resources.list('stream', { limit: 9 })).map(({ id }) => id)).toEqual(['s1']);
      expect(await store.resources.find('stream', 'key', 'k2')).toBeUndefined();
      expect(await store.resources.find('stream', 'key', 'k1')).toMatchObject({ id: 's1' });
    },
  },
];

async function leasesOf(store: Store, count: 1): Promise<[Lease]>;
async function leasesOf(store: Store, count: 2): Promise<[Lease, Lease]>;
async function leasesOf(store: Store, count: 3): Promise<[Lease, Lease, Lease]>;
async function leasesOf(store: Store, count: number): Promise<Lease[]> {
  const leases = await store.acquire(count);
  expect(leases).toHaveLength(count);
  return leases;
}

function refused(step: number, why: 'duplicate' | 'lost' | 'conflict'): BatchOutcome {
  return { outcome: 'refused', step, why };
}

async function ok(committed: Promise<CommitOutcome | BatchOutcome>): Promise<void> {
  expect((await committed).outcome).toBe('ok');
}
