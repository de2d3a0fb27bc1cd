import { expect } from 'vitest';
import type { Outbox, Store } from '../../../core/ports/store.ts';
import type { Check } from './check.ts';
import { bothLives, event, row, start, step, write } from './fixtures.ts';

/** What commits leave for other engines. A driver whose jobs are its own has nothing to check. */
export const outboxChecks: readonly Check[] = [
  {
    name: 'a commit with events, jobs or cancels leaves an entry, in the order of the commits',
    async run({ store, reopen }) {
      if (!store.outbox) return;
      const [zero, one] = await store.acquire(2);
      if (!zero || !one) throw new Error('two leases expected');
      const job = { id: 'j', kind: 'work', child: 'c', input: '{}', due: start };
      const commits = [
        step(zero, { cause: 'c1', at: start + 1, events: [event('e1'), event('e2')] }),
        step(zero, { cause: 'c2', sequence: 1 }),
        step(zero, { cause: 'c3', sequence: 2, jobs: [job] }),
        step(zero, { cause: 'c4', sequence: 3, cancels: ['j'] }),
        step(zero, { cause: 'c5', sequence: 9, events: [event('e3')] }),
        step(one, { cause: 'c6', actor: 'a/2', state: null, events: [event('e4')] }),
      ];
      const outcomes = await Promise.all(commits.map((commit) => store.commit(commit)));
      const written = await store.write(
        write({ at: start + 7, rows: [{ ...row(), revision: 0 }], events: [event('e5')] }),
      );
      await store.write(write({ rows: [{ ...row(), revision: 1 }] }));
      const numbers = [...outcomes, written].map((one) => (one.outcome === 'ok' ? one.entry : one.outcome));
      expect(numbers).toEqual([1, undefined, 2, 3, 'conflict', 1, 1]);
      for await (const current of bothLives({ store, reopen })) {
        const outbox = outboxOf(current);
        const pending = (partition: number, limit = 10) => outbox.pending(partition, { limit });
        const none = { events: [], jobs: [], cancels: [] };
        const own = { partition: 0, epoch: zero.epoch, actor: 'a/1', at: start };
        expect(await pending(0)).toEqual([
          { ...own, ...none, number: 1, cause: 'c1', at: start + 1, events: [event('e1'), event('e2')] },
          { ...own, ...none, number: 2, cause: 'c3', jobs: [job] },
          { ...own, ...none, number: 3, cause: 'c4', cancels: ['j'] },
        ]);
        expect((await pending(0, 1)).map(({ number }) => number)).toEqual([1]);
        expect(await pending(1)).toMatchObject([
          { number: 1, partition: 1, actor: 'a/2', events: [event('e4')] },
        ]);
        expect(await pending(-1)).toEqual([
          {
            ...none,
            number: 1,
            partition: -1,
            epoch: 0,
            cause: '',
            actor: '',
            at: start + 7,
            events: [event('e5')],
          },
        ]);
      }
    },
  },
  {
    name: 'entries stay until they are settled, and numbers go on',
    async run({ store, reopen }) {
      if (!store.outbox) return;
      const [lease] = await store.acquire(1);
      if (!lease) throw new Error('a lease expected');
      const commit = (current: Store, sequence: number) =>
        current.commit(step(lease, { sequence, events: [event(`e${sequence}`)] }));
      for (const sequence of [0, 1, 2]) await commit(store, sequence);
      const numbers = async (current: Store) =>
        (await outboxOf(current).pending(0, { limit: 1000 })).map(({ number }) => number);
      await outboxOf(store).settle(0, [2, 77]);
      await outboxOf(store).settle(0, []);
      expect(await numbers(store)).toEqual([1, 3]);
      await outboxOf(store).settle(0, [1, 3, 3]);
      const next = await reopen();
      expect(await numbers(next)).toEqual([]);
      expect(await commit(next, 3)).toMatchObject({ outcome: 'ok', entry: 4, events: [4] });
      expect(await numbers(next)).toEqual([4]);
      for (const limit of [0, 1001, 1.5]) {
        await expect(outboxOf(next).pending(0, { limit })).rejects.toThrow(RangeError);
      }
    },
  },
];

function outboxOf({ outbox }: Store): Outbox {
  if (!outbox) throw new Error('the driver lost its outbox');
  return outbox;
}
