import { expect } from 'vitest';
import type { CommitOutcome, Consumed, Lease, StepCommit, Store } from '../../../core/ports/store.ts';
import { partitionOf } from '../../../runtime/actors/actor-name.ts';
import type { Check } from './check.ts';
import { bothLives, event, row, start, step } from './fixtures.ts';

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
    name: 'a step moves the offset of its partition, and that lasts',
    async run({ store, reopen }) {
      const [zero, one] = await leasesOf(store, 2);
      expect([zero.offset, one.offset]).toEqual([-1, -1]);
      await ok(store.commit(step(one, { consumed: { from: -1, to: 4, isCause: true } })));
      await ok(store.commit(step(one, { sequence: 1, consumed: { from: 4, to: 4 } })));
      await ok(store.commit(step(one, { sequence: 2, consumed: { from: 4, to: 9 } })));
      await ok(store.commit(step(one, { sequence: 3 })));
      const offsets = async (of: Store) => (await of.acquire(2)).map(({ offset }) => offset);
      expect(await offsets(store)).toEqual([-1, 9]);
      expect(await offsets(await reopen())).toEqual([-1, 9]);
    },
  },
  {
    name: 'where the log is consumed decides over a step, in every combination',
    async run({ store }) {
      const [lease] = await leasesOf(store, 1);
      await ok(store.consume({ ...lease, from: -1, to: 10 }));
      // [from, to] and what is answered while 10 is stored.
      const cases: [number, number, CommitOutcome['outcome']][] = [
        ...([
          [-1, 0, 'duplicate'],
          [9, 10, 'duplicate'],
          [3, 10, 'duplicate'],
        ] as const),
        ...([
          [9, 11, 'gap'],
          [11, 12, 'gap'],
          [11, 11, 'gap'],
          [9, 9, 'gap'],
          [-1, -1, 'gap'],
        ] as const),
      ].map(([from, to, outcome]) => [from, to, outcome]);
      for (const [index, [from, to, outcome]] of cases.entries()) {
        const expected = outcome === 'gap' ? { outcome, offset: 10 } : { outcome };
        const parts: Partial<StepCommit> = {
          ...{ actor: `a/${index}`, rows: [row()], events: [event('e1')], orders: [order] },
          ...{ cause: `case-${index}`, timers: [{ name: 't', due: 1 }] },
        };
        for (const isCause of [true, false]) {
          const consumed = { from, to, isCause };
          expect({ consumed, ...(await store.commit(step(lease, { ...parts, consumed }))) }).toEqual({
            ...{ consumed, ...expected },
          });
        }
        const place = { ...lease, from, to };
        expect({ from, to, ...(await store.consume(place)) }).toEqual({ from, to, ...expected });
        expect(await store.isConsumed(`case-${index}`)).toBe(false);
      }
      expect(await store.resources.get('stream', 's1')).toBeUndefined();
      expect([await store.timers(), await store.orders(), await store.events.last()]).toEqual([[], [], 0]);
      expect((await store.acquire(1))[0]?.offset).toBe(10);
    },
  },
  {
    name: 'the epoch is looked at before the log, the log before the cause, the cause before the sequence',
    async run({ store }) {
      const [former] = await leasesOf(store, 1);
      const [lease] = await leasesOf(store, 1);
      const whole = { cause: 'c', consumed: { from: -1, to: 5 } };
      await ok(store.commit(step(lease, whole)));
      expect(await store.commit(step(former, whole))).toEqual({ outcome: 'fenced' });
      expect(await store.consume({ ...former, from: 5, to: 6 })).toEqual({ outcome: 'fenced' });
      expect(await store.commit(step(lease, whole))).toEqual({ outcome: 'duplicate' });
      const further = { ...whole, consumed: { from: 6, to: 7 } };
      expect(await store.commit(step(lease, further))).toEqual({ outcome: 'gap', offset: 5 });
      const next = { ...whole, sequence: 9, consumed: { from: 5, to: 6 } };
      expect(await store.commit(step(lease, next))).toEqual({ outcome: 'duplicate' });
    },
  },
  {
    name: 'a record whose cause was consumed is consumed with it; a conflict consumes nothing',
    async run({ store }) {
      const [lease] = await leasesOf(store, 1);
      const at = async () => (await store.consume({ ...lease, from: 99, to: 99 })) as { offset?: number };
      await ok(store.commit(step(lease, { cause: 'c', consumed: { from: -1, to: 0 } })));
      const again = step(lease, { cause: 'c', consumed: { from: 0, to: 3 } });
      expect(await store.commit(again)).toEqual({ outcome: 'duplicate' });
      expect((await at()).offset).toBe(3);
      const stale = step(lease, { sequence: 7, consumed: { from: 3, to: 4 } });
      expect(await store.commit(stale)).toEqual({ outcome: 'conflict' });
      expect((await at()).offset).toBe(3);
      expect(await store.isConsumed(stale.cause)).toBe(false);
    },
  },
  {
    name: 'a cause that is the record itself is not remembered, any other is',
    async run({ store }) {
      const [lease] = await leasesOf(store, 1);
      const logged = { cause: 'm0.0', consumed: { from: -1, to: 0, isCause: true } };
      await ok(store.commit(step(lease, logged)));
      await ok(store.commit(step(lease, { sequence: 1, cause: 'timer', consumed: { from: 0, to: 0 } })));
      await ok(
        store.commit(step(lease, { sequence: 2, cause: 'd0.1', counter: 1, consumed: { from: 0, to: 1 } })),
      );
      const consumed = await Promise.all(['m0.0', 'timer', 'd0.1'].map((cause) => store.isConsumed(cause)));
      expect(consumed).toEqual([false, true, false]);
      expect((await store.acquire(1))[0]).toMatchObject({ counter: 1, offset: 1 });
    },
  },
  {
    name: 'consume moves the offset alone',
    async run({ store, reopen }) {
      const [zero, one] = await leasesOf(store, 2);
      expect(await store.consume({ ...one, from: -1, to: 41 })).toMatchObject({ outcome: 'ok', events: [] });
      expect(await store.consume({ ...one, from: 41, to: 41 })).toMatchObject({ outcome: 'ok' });
      expect(await store.consume({ ...zero, partition: 2, from: -1, to: 1 })).toEqual({ outcome: 'fenced' });
      const next = await reopen();
      expect((await next.acquire(2)).map(({ offset }) => offset)).toEqual([-1, 41]);
    },
  },
  {
    name: 'chained steps that are sent at once: when one is not written, none after it is',
    async run({ store }) {
      const [lease] = await leasesOf(store, 1);
      const chain: Consumed[] = [0, 1, 2, 3].map((to) => ({ from: to - 1, to }));
      const outcomes = await Promise.all(
        chain.map((consumed, index) =>
          // The third comes from a state that is none.
          store.commit(step(lease, { actor: `a/${index}`, sequence: index === 2 ? 5 : 0, consumed })),
        ),
      );
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'conflict', 'gap']);
      expect(outcomes[3]).toEqual({ outcome: 'gap', offset: 1 });
      expect(await store.load('a/3')).toBeUndefined();
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
        const plain = await resources.find('stream', 'own', 'plain', { isPlain: true });
        expect(plain?.id).toBe('plain');
      }
    },
  },
  {
    name: 'a row is found in the place that its id, or the value of its index, tells',
    async run({ store, reopen }) {
      const leases = await leasesOf(store, 3);
      const named = (what: string, partition: number) => {
        for (let n = 0; ; n += 1) if (partitionOf(`${what}${n}`, 3) === partition) return `${what}${n}`;
      };
      const key = (partition: number) => named('k', partition);
      for (const lease of leases) {
        const { partition } = lease;
        const rows = [row({ id: named('s', partition), indexes: { key: key(partition) } })];
        await ok(store.commit(step(lease, { actor: `a/${partition}`, rows })));
      }
      await store.write({ at: start, events: [], rows: [{ ...row({ id: 'plain' }), revision: 0 }] });
      for await (const { resources } of bothLives({ store, reopen })) {
        for (const { partition } of leases) {
          const id = named('s', partition);
          expect(await resources.get('stream', id, { isBeside: true })).toMatchObject({ id });
          expect(await resources.find('stream', 'key', key(partition), { isBeside: true })).toMatchObject({
            id,
          });
        }
        expect(await resources.get('stream', 'never', { isBeside: true })).toBeUndefined();
        expect(await resources.find('stream', 'key', 'never', { isBeside: true })).toBeUndefined();
        expect(await resources.get('stream', 'plain', { isPlain: true })).toMatchObject({ id: 'plain' });
        expect(await resources.get('stream', 'never', { isPlain: true })).toBeUndefined();
      }
      // What a step moves to another key is found by that alone.
      const [first] = leases;
      const [id, other] = [named('s', 0), named('other', 0)];
      const rows = [row({ id, indexes: { key: other } })];
      const next = await reopen();
      await ok(next.commit(step(first as Lease, { actor: 'a/0', sequence: 1, rows })));
      expect(await next.resources.find('stream', 'key', other, { isBeside: true })).toMatchObject({ id });
      expect(await next.resources.find('stream', 'key', key(0), { isBeside: true })).toBeUndefined();
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

async function ok(committed: Promise<CommitOutcome>): Promise<void> {
  expect((await committed).outcome).toBe('ok');
}
