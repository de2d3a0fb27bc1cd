import { expect } from 'vitest';
import type { Check } from './check.ts';
import { acquireOne, bothLives, event, row, start, step, write } from './fixtures.ts';

export const logChecks: readonly Check[] = [
  {
    name: 'events of steps and writes share one log, in the order of their commits',
    async run({ store, reopen }) {
      const lease = await acquireOne(store);
      const outcomes = await Promise.all([
        store.commit(
          step(lease, { at: start + 1, events: [event('e1'), event('e2', { account: 'other' })] }),
        ),
        store.write(write({ at: start + 2, events: [event('e3', { stream: '' })] })),
        store.commit(step(lease, { actor: 'a/2', at: start + 3, events: [event('e4')] })),
      ]);
      expect(outcomes.map((one) => one.outcome === 'ok' && one.events)).toEqual([[1, 2], [3], [4]]);
      for await (const { events } of bothLives({ store, reopen })) {
        const log = await events.after(0, { limit: 1000 });
        expect(log).toEqual([
          { ...event('e1'), position: 1, at: start + 1 },
          { ...event('e2', { account: 'other' }), position: 2, at: start + 1 },
          { ...event('e3', { stream: '' }), position: 3, at: start + 2 },
          { ...event('e4'), position: 4, at: start + 3 },
        ]);
        expect((await events.after(1, { limit: 2 })).map((one) => one.id)).toEqual(['e2', 'e3']);
        expect((await events.after(1, { account: 'main', limit: 1 })).map((one) => one.id)).toEqual(['e3']);
        expect(await events.after(4, { limit: 5 })).toEqual([]);
        const last = Number.MAX_SAFE_INTEGER;
        expect(await events.before(last, { limit: 1000 })).toEqual(log.toReversed());
        expect((await events.before(4, { limit: 2 })).map((one) => one.id)).toEqual(['e3', 'e2']);
        expect((await events.before(4, { account: 'main', limit: 2 })).map((one) => one.id)).toEqual([
          ...['e3', 'e1'],
        ]);
        expect(await events.before(1, { limit: 5 })).toEqual([]);
        expect(await events.before(0, { account: 'main', limit: 5 })).toEqual([]);
        // The second is beyond the bound, and the last that comes.
        const few = { limit: 5, characters: log[0]?.body.length ?? 0 };
        expect((await events.after(0, few)).slice(0, 2).map((one) => one.id)).toEqual(['e1', 'e2']);
        expect((await events.before(last, few)).slice(0, 2).map((one) => one.id)).toEqual(['e4', 'e3']);
        expect(await events.after(4, few)).toEqual([]);
        expect(await events.position('e3')).toBe(3);
        expect(await events.position('e9')).toBeUndefined();
        expect(await events.last()).toBe(4);
      }
    },
  },
  {
    name: 'a write with isOnce writes an event once, whoever wrote it, until a sweep forgets it',
    async run({ store, reopen }) {
      const lease = await acquireOne(store);
      const once = (id: string, more: Parameters<typeof write>[0] = {}) =>
        write({ isOnce: true, events: [event(id)], ...more });
      const fresh = { ...row({ kind: 'note', id: 'n1' }), revision: 0 };
      await store.commit(step(lease, { events: [event('e1')] }));
      const outcomes = await Promise.all([
        store.write(once('e1', { rows: [fresh] })),
        store.write(once('e2', { at: start + 5 })),
        store.write(once('e2')),
        // The row is wrong too; a repeat is more than a conflict.
        store.write(once('e2', { rows: [{ ...fresh, revision: 7 }] })),
        store.write(once('e3', { rows: [{ ...fresh, revision: 7 }] })),
        store.write(once('e3', { rows: [fresh] })),
        store.write(write({ isOnce: true, events: [event('e4'), event('e3')] })),
      ]);
      expect(outcomes.map(({ outcome }) => outcome)).toEqual([
        ...['duplicate', 'ok', 'duplicate', 'duplicate', 'conflict', 'ok', 'duplicate'],
      ]);
      for await (const current of bothLives({ store, reopen })) {
        expect((await current.events.after(0, { limit: 10 })).map(({ id }) => id)).toEqual([
          'e1',
          'e2',
          'e3',
        ]);
        expect(await current.write(once('e2'))).toEqual({ outcome: 'duplicate' });
        expect(await current.resources.get('note', 'n1')).toMatchObject({ revision: 1 });
      }
      const last = await reopen();
      await last.sweep(start + 10);
      expect(await last.write(once('e2'))).toMatchObject({ outcome: 'ok' });
    },
  },
  {
    name: 'an empty log ends at 0, and cursors start there',
    async run({ store }) {
      expect(await store.events.last()).toBe(0);
      expect(await store.events.cursor('webhooks')).toBe(0);
      expect(await store.events.after(0, { limit: 10 })).toEqual([]);
    },
  },
  {
    name: 'each consumer has its own cursor, and it lasts',
    async run({ store, reopen }) {
      await store.events.advance('webhooks', 3);
      await store.events.advance('audit', 1);
      await Promise.all([store.events.advance('webhooks', 4), store.events.advance('webhooks', 5)]);
      for await (const { events } of bothLives({ store, reopen })) {
        expect(await events.cursor('webhooks')).toBe(5);
        expect(await events.cursor('audit')).toBe(1);
        expect(await events.cursor('nobody')).toBe(0);
      }
    },
  },
  {
    name: 'orders stay, oldest first, until they are acknowledged',
    async run({ store, reopen }) {
      const lease = await acquireOne(store);
      const order = (id: string) => ({ id, type: 'close', body: `{"id":"${id}"}` });
      await store.commit(step(lease, { orders: [order('z'), order('y')] }));
      await store.commit(step(lease, { sequence: 1, state: null, orders: [order('a')] }));
      expect(await store.orders()).toEqual([order('z'), order('y'), order('a')]);
      await store.acknowledge(['y', 'unknown']);
      await store.acknowledge([]);
      expect(await store.orders()).toEqual([order('z'), order('a')]);
      const next = await reopen();
      expect(await next.orders()).toEqual([order('z'), order('a')]);
      await next.acknowledge(['a', 'z', 'a']);
      expect(await next.orders()).toEqual([]);
    },
  },
  {
    name: 'a sweep forgets events and causes before its time, and only those',
    async run({ store, reopen }) {
      const lease = await acquireOne(store);
      const count = 700;
      const commits = Array.from({ length: count }, (_, index) =>
        step(lease, {
          actor: `a/${index}`,
          cause: `c${index}`,
          at: start + index,
          events: [event(`e${index}`)],
          timers: [{ name: 't', due: start }],
        }),
      );
      await Promise.all(commits.map((one) => store.commit(one)));
      await store.sweep(start + 600);
      let round = 0;
      for await (const current of bothLives({ store, reopen })) {
        const kept = await current.events.after(0, { limit: 1000 });
        expect(kept.map((one) => one.at)).toEqual(
          Array.from({ length: 100 }, (_, index) => start + 600 + index),
        );
        const back = await current.events.before(Number.MAX_SAFE_INTEGER, { account: 'main', limit: 1000 });
        expect(back).toEqual(kept.toReversed());
        expect(await current.events.position('e599')).toBeUndefined();
        expect(await current.events.position('e600')).toBe(601);
        expect(await current.timers()).toHaveLength(count);
        const again = (index: number) =>
          current.commit({ ...step(lease), actor: `b/${index}`, cause: `c${index}` });
        expect(await again(600)).toEqual({ outcome: 'duplicate' });
        expect(await again(599 - round++)).toMatchObject({ outcome: 'ok' });
      }
    },
  },
  {
    name: 'a sweep up to a position keeps the events after it, however old they are',
    async run({ store }) {
      const lease = await acquireOne(store);
      // The last one is the oldest: a timer that was due long ago. There are more to keep than a sweep looks at in one go.
      const ages = Array.from({ length: 500 }, (_, index) => (index === 499 ? 0 : 1 + index));
      const commits = ages.map((age, index) =>
        step(lease, {
          actor: `a/${index}`,
          cause: `c${index}`,
          at: start + age,
          events: [event(`e${index}`)],
        }),
      );
      await Promise.all(commits.map((one) => store.commit(one)));
      await store.sweep(start + 450, 300);
      const kept = async () => (await store.events.after(0, { limit: 1000 })).map(({ position }) => position);
      expect(await kept()).toEqual(Array.from({ length: 200 }, (_, index) => 301 + index));
      expect(await store.events.position('e299')).toBeUndefined();
      expect(await store.events.position('e300')).toBe(301);
      // Causes have no position.
      expect(await store.commit({ ...step(lease), actor: 'b/1', cause: 'c440' })).toMatchObject({
        outcome: 'ok',
      });
      await store.sweep(start + 450, 499);
      expect(await kept()).toEqual(Array.from({ length: 51 }, (_, index) => 450 + index));
      await store.sweep(start + 450);
      expect(await kept()).toEqual(Array.from({ length: 50 }, (_, index) => 450 + index));
    },
  },
  {
    name: 'positions go on after a sweep that leaves no event',
    async run({ store, reopen }) {
      const lease = await acquireOne(store);
      await store.commit(step(lease, { events: [event('e1'), event('e2')] }));
      await store.sweep(start + 1);
      expect(await store.events.after(0, { limit: 10 })).toEqual([]);
      expect(await store.events.last()).toBe(2);
      const next = await reopen();
      expect(await next.events.last()).toBe(2);
      expect(await next.write(write({ events: [event('e3')] }))).toMatchObject({
        outcome: 'ok',
        events: [3],
      });
    },
  },
  {
    name: 'the id of an ended actor is remembered until a sweep passes its end',
    async run({ store }) {
      const lease = await acquireOne(store);
      await store.commit(step(lease));
      await store.commit(step(lease, { sequence: 1, state: null, at: start + 10 }));
      await store.sweep(start + 10);
      expect(await store.commit(step(lease))).toEqual({ outcome: 'conflict' });
      await store.sweep(start + 11);
      expect(await store.commit(step(lease))).toMatchObject({ outcome: 'ok' });
    },
  },
  {
    name: 'a close keeps what was asked for before it',
    async run({ store, reopen }) {
      const lease = await acquireOne(store);
      const pending = store.commit(step(lease));
      const next = await reopen();
      expect(await pending).toMatchObject({ outcome: 'ok' });
      expect(await next.load('a/1')).toMatchObject({ sequence: 1 });
    },
  },
];
