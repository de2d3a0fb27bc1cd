import { expect } from 'vitest';
import type { Check } from './check.ts';
import { acquireOne, bothLives, event, row, start, step } from './fixtures.ts';

const order = { id: 'cause/0/close', type: 'close', body: '{}' };

export const stepChecks: readonly Check[] = [
  {
    name: 'acquire gives each partition a higher epoch than its last owner had',
    async run({ store, reopen }) {
      const first = await store.acquire(3);
      expect(first.map((lease) => lease.partition)).toEqual([0, 1, 2]);
      expect(first.every((lease) => lease.epoch >= 1 && lease.counter === 0)).toBe(true);
      const second = await store.acquire(3);
      const third = await (await reopen()).acquire(3);
      for (const partition of [0, 1, 2]) {
        expect(second[partition]?.epoch).toBeGreaterThan(first[partition]?.epoch ?? 0);
        expect(third[partition]?.epoch).toBeGreaterThan(second[partition]?.epoch ?? 0);
      }
    },
  },
  {
    name: 'another partition count is refused, and changes no epoch',
    async run({ store, reopen }) {
      const [lease] = await store.acquire(4);
      await expect(store.acquire(5)).rejects.toMatchObject({ name: 'Fault', code: 'store.partitions' });
      const next = await reopen();
      await expect(next.acquire(3)).rejects.toMatchObject({ name: 'Fault', code: 'store.partitions' });
      const again = await next.acquire(4);
      expect(again).toHaveLength(4);
      expect(again[0]?.epoch).toBe((lease?.epoch ?? 0) + 1);
    },
  },
  {
    name: 'a former owner is fenced and writes nothing',
    async run({ store }) {
      const former = await acquireOne(store);
      const owner = await acquireOne(store);
      const late = step(former, { rows: [row()], events: [event('e1')], orders: [order] });
      expect(await store.commit(late)).toEqual({ outcome: 'fenced' });
      expect(await store.load('a/1')).toBeUndefined();
      expect(await store.resources.get('stream', 's1')).toBeUndefined();
      expect(await store.events.last()).toBe(0);
      expect(await store.orders()).toEqual([]);
      expect(await store.commit({ ...late, epoch: owner.epoch })).toMatchObject({ outcome: 'ok' });
    },
  },
  {
    name: 'an epoch that is not given out yet, and a partition that is not there, are fenced',
    async run({ store }) {
      const lease = await acquireOne(store);
      expect(await store.commit(step({ ...lease, epoch: lease.epoch + 1 }))).toEqual({ outcome: 'fenced' });
      expect(await store.commit(step({ ...lease, partition: 1 }))).toEqual({ outcome: 'fenced' });
    },
  },
  {
    name: 'a step writes state, rows, timers, events and orders together',
    async run({ store, reopen }) {
      const lease = await acquireOne(store);
      const outcome = await store.commit(
        step(lease, {
          version: 7,
          rows: [row({ indexes: { key: 'k' } })],
          timers: [{ name: 'hold', due: start + 5 }],
          events: [event('e1'), event('e2')],
          orders: [order],
        }),
      );
      expect(outcome).toMatchObject({ outcome: 'ok', events: [1, 2] });
      for await (const current of bothLives({ store, reopen })) {
        expect(await current.load('a/1')).toEqual({ state: '{"value":"on"}', version: 7, sequence: 1 });
        expect(await current.resources.find('stream', 'key', 'k')).toMatchObject({ id: 's1', revision: 1 });
        expect(await current.timers()).toEqual([{ actor: 'a/1', name: 'hold', due: start + 5 }]);
        expect(await current.events.after(0, { limit: 10 })).toEqual([
          { ...event('e1'), position: 1, at: start },
          { ...event('e2'), position: 2, at: start },
        ]);
        expect(await current.orders()).toEqual([order]);
      }
    },
  },
  {
    name: 'a step from an older sequence is a conflict and writes nothing',
    async run({ store }) {
      const lease = await acquireOne(store);
      await store.commit(step(lease));
      await store.commit(step(lease, { sequence: 1, state: '2' }));
      for (const sequence of [0, 1, 3]) {
        const stale = step(lease, {
          sequence,
          state: 'stale',
          rows: [row()],
          timers: [{ name: 't', due: 1 }],
          events: [event('e1')],
          orders: [order],
        });
        expect(await store.commit(stale)).toEqual({ outcome: 'conflict' });
        // Nothing was written, its cause neither: it may come again with the right sequence.
        expect(await store.commit({ ...stale, actor: `a/other-${sequence}`, sequence: 9 })).toEqual({
          outcome: 'conflict',
        });
      }
      expect(await store.load('a/1')).toEqual({ state: '2', version: 1, sequence: 2 });
      expect(await store.timers()).toEqual([]);
      expect(await store.orders()).toEqual([]);
      expect(await store.events.last()).toBe(0);
      expect(await store.resources.list('stream', { limit: 10 })).toEqual([]);
    },
  },
  {
    name: 'steps sent at once: one conflict does not undo its neighbours',
    async run({ store, reopen }) {
      const lease = await acquireOne(store);
      const outcomes = await Promise.all([
        store.commit(step(lease, { actor: 'a/1', state: 'first', events: [event('e1')] })),
        store.commit(step(lease, { actor: 'a/1', state: 'second', events: [event('e2')] })),
        store.commit(step(lease, { actor: 'a/2', state: 'other', events: [event('e3')] })),
        store.commit(step(lease, { actor: 'a/1', sequence: 1, state: 'third', events: [event('e4')] })),
        store.commit(step({ ...lease, epoch: 0 }, { actor: 'a/3' })),
      ]);
      expect(outcomes.map((one) => one.outcome)).toEqual(['ok', 'conflict', 'ok', 'ok', 'fenced']);
      for await (const current of bothLives({ store, reopen })) {
        expect(await current.load('a/1')).toMatchObject({ state: 'third', sequence: 2 });
        expect(await current.load('a/2')).toMatchObject({ state: 'other', sequence: 1 });
        expect((await current.events.after(0, { limit: 10 })).map((one) => one.id)).toEqual([
          'e1',
          'e3',
          'e4',
        ]);
      }
    },
  },
  {
    name: 'a cause is consumed once',
    async run({ store, reopen }) {
      const lease = await acquireOne(store);
      const once = step(lease, { cause: 'c', events: [event('e1')] });
      const bare = step(lease, { cause: 'd', actor: 'a/2' });
      const outcomes = await Promise.all([once, once, bare, bare].map((one) => store.commit(one)));
      expect(outcomes).toMatchObject([
        { outcome: 'ok', events: [1] },
        { outcome: 'duplicate' },
        { outcome: 'ok', events: [] },
        { outcome: 'duplicate' },
      ]);
      // Before the sequence, and whoever it is for.
      expect(await store.commit({ ...once, actor: 'a/9', sequence: 5 })).toMatchObject({
        outcome: 'duplicate',
      });
      expect(await store.isConsumed('c')).toBe(true);
      expect(await store.isConsumed('never')).toBe(false);
      const next = await reopen();
      const [owner] = await next.acquire(1);
      // After the epoch.
      expect(await next.commit(once)).toEqual({ outcome: 'fenced' });
      expect(await next.commit({ ...once, epoch: owner?.epoch ?? 0 })).toEqual({
        outcome: 'duplicate',
      });
      expect(await next.events.last()).toBe(1);
    },
  },
  {
    name: 'the counter keeps the highest number of its partition',
    async run({ store, reopen }) {
      const [zero, one] = await store.acquire(2);
      if (!zero || !one) throw new Error('two leases expected');
      await store.commit(step(zero, { actor: 'a/1', cause: 'd0.5', counter: 5 }));
      await store.commit(step(zero, { actor: 'a/2', cause: 'd0.3', counter: 3 }));
      await store.commit(step(one, { actor: 'a/3', cause: 'd1.1', counter: 1 }));
      expect(await store.commit(step(one, { actor: 'a/3', cause: 'd1.9', counter: 9 }))).toEqual({
        outcome: 'conflict',
      });
      expect((await store.acquire(2)).map((lease) => lease.counter)).toEqual([5, 1]);
      expect((await (await reopen()).acquire(2)).map((lease) => lease.counter)).toEqual([5, 1]);
    },
  },
  {
    name: 'an actor that ended is gone, and its id is not taken again',
    async run({ store, reopen }) {
      const lease = await acquireOne(store);
      const spawn = step(lease, { cause: 'spawn', timers: [{ name: 't', due: start }] });
      await store.commit(spawn);
      const end = step(lease, { sequence: 1, state: null, timers: [{ name: 'late', due: 1 }] });
      expect(await store.commit(end)).toMatchObject({ outcome: 'ok' });
      for await (const current of bothLives({ store, reopen })) {
        expect(await current.load('a/1')).toBeUndefined();
        expect(await current.timers()).toEqual([]);
        expect(await current.commit(step(lease))).toEqual({ outcome: 'conflict' });
        expect(await current.commit(step(lease, { state: null }))).toEqual({ outcome: 'conflict' });
        expect(await current.commit(step(lease, { sequence: 2 }))).toEqual({ outcome: 'conflict' });
        expect(await current.commit(spawn)).toEqual({ outcome: 'duplicate' });
      }
    },
  },
  {
    name: 'an actor may end with its first step',
    async run({ store }) {
      const lease = await acquireOne(store);
      expect(await store.commit(step(lease, { state: null, events: [event('e1')] }))).toMatchObject({
        outcome: 'ok',
      });
      expect(await store.load('a/1')).toBeUndefined();
      expect(await store.commit(step(lease))).toEqual({ outcome: 'conflict' });
    },
  },
  {
    name: 'a timer of the same name is replaced, null removes it, and lists are earliest first',
    async run({ store, reopen }) {
      const lease = await acquireOne(store);
      const set = (name: string, due: number | null) => ({ name, due });
      await store.commit(
        step(lease, { timers: [set('x', start + 30), set('y', start + 20), set('z', start + 5)] }),
      );
      await store.commit(step(lease, { actor: 'a/2', timers: [set('x', start + 25)] }));
      await store.commit(
        step(lease, { sequence: 1, timers: [set('x', start + 10), set('z', null), set('never', null)] }),
      );
      await store.commit(step(lease, { sequence: 2 }));
      for await (const current of bothLives({ store, reopen })) {
        expect(await current.timers()).toEqual([
          { actor: 'a/1', name: 'x', due: start + 10 },
          { actor: 'a/1', name: 'y', due: start + 20 },
          { actor: 'a/2', name: 'x', due: start + 25 },
        ]);
      }
    },
  },
];
