import { expect, vi } from 'vitest';
import type { Json, Volatile } from '../../../core/ports/volatile.ts';

/** A driver to be tested. `pass` lets that much time go by, as the driver counts it. */
export interface OpenedVolatile {
  readonly volatile: Volatile;
  /** Another node on the same facts; where there can be none, the same. */
  readonly peer: Volatile;
  pass(ms: number): Promise<void>;
  /** How long an announcement may be under way, ms. Default 10,000. */
  readonly patience?: number;
}

/** One promise of the port. A list instead of bare tests, so that a test can show that a broken driver fails. */
export interface VolatileCheck {
  readonly name: string;
  run(opened: OpenedVolatile): Promise<void>;
}

/** What every driver of the port must do. Keys begin with `t/`; a driver may be shared with others. */
export const volatileChecks: readonly VolatileCheck[] = [
  {
    name: 'what was set is read, whatever JSON it is',
    async run({ volatile }) {
      const values = [null, true, 0, -1.5, 'text "quoted"', [1, [2]], { a: { b: [null] }, __proto: 1 }, ''];
      const entries = values.map((value, index) => ({ key: `t/json/${index}`, value }));
      await volatile.set(entries, { lasts: 60_000 });
      expect(await volatile.get(entries.map(({ key }) => key))).toEqual(values);
    },
  },
  {
    name: 'get answers in the order of the keys, undefined for what is not there',
    async run({ volatile }) {
      await volatile.set(
        [
          { key: 't/order/a', value: 'a' },
          { key: 't/order/b', value: 'b' },
        ],
        { lasts: 60_000 },
      );
      const got = await volatile.get(['t/order/b', 't/order/none', 't/order/a', 't/order/b']);
      expect(got).toEqual(['b', undefined, 'a', 'b']);
      expect(await volatile.get([])).toEqual([]);
    },
  },
  {
    name: 'a value is gone when its time is over, and not before',
    async run({ volatile, pass }) {
      await volatile.set([{ key: 't/expiry', value: 1 }], { lasts: 2000 });
      await pass(500);
      expect(await volatile.get(['t/expiry'])).toEqual([1]);
      await pass(1550);
      expect(await volatile.get(['t/expiry'])).toEqual([undefined]);
    },
  },
  {
    name: 'setting again replaces value and time',
    async run({ volatile, pass }) {
      await volatile.set([{ key: 't/again', value: { old: 1 } }], { lasts: 200 });
      await volatile.set([{ key: 't/again', value: { new: 2 } }], { lasts: 60_000 });
      await pass(300);
      expect(await volatile.get(['t/again'])).toEqual([{ new: 2 }]);
      await volatile.set([{ key: 't/again', value: 3 }], { lasts: 100 });
      await pass(200);
      expect(await volatile.get(['t/again'])).toEqual([undefined]);
    },
  },
  {
    name: 'what is kept is a copy',
    async run({ volatile }) {
      const value = { list: [1] };
      await volatile.set([{ key: 't/copy', value }], { lasts: 60_000 });
      value.list.push(2);
      const [got] = (await volatile.get(['t/copy'])) as { list: number[] }[];
      expect(got).toEqual({ list: [1] });
      got.list.push(3);
      expect(await volatile.get(['t/copy'])).toEqual([{ list: [1] }]);
    },
  },
  {
    name: 'what one node sets, every node reads',
    async run({ volatile, peer }) {
      await volatile.set([{ key: 't/nodes/a', value: 1 }], { lasts: 60_000 });
      await peer.set([{ key: 't/nodes/b', value: 2 }], { lasts: 60_000 });
      for (const one of [volatile, peer]) expect(await one.get(['t/nodes/a', 't/nodes/b'])).toEqual([1, 2]);
    },
  },
  {
    name: 'an announcement is heard by all who listen to its topic, on all nodes, in order',
    async run({ volatile, peer, patience }) {
      const heard = [collected(patience), collected(patience), collected(patience)] as const;
      volatile.listen('t/said/a', heard[0].hear);
      volatile.listen('t/said/a', heard[1].hear);
      peer.listen('t/said/a', heard[2].hear);
      await inForce(peer);
      const messages = [null, 'text', 0, [1, { a: [] }], { b: 'é' }];
      for (const message of messages) await volatile.announce('t/said/a', message);
      for (const { all, until } of heard) {
        await until(messages.length);
        expect(all).toEqual(messages);
      }
    },
  },
  {
    name: 'what is heard is a copy for each who listens',
    async run({ volatile, patience }) {
      const second = collected(patience);
      const said = { list: [1] };
      volatile.listen('t/copies', (message) => {
        (message as { list: number[] }).list.push(2);
      });
      volatile.listen('t/copies', second.hear);
      const out = volatile.announce('t/copies', said);
      said.list.push(3);
      await out;
      await second.until(1);
      expect(second.all).toEqual([{ list: [1] }]);
    },
  },
  {
    name: 'topics are apart',
    async run({ volatile, peer, patience }) {
      const one = collected(patience);
      const other = collected(patience);
      peer.listen('t/apart', one.hear);
      peer.listen('t/apart/a', other.hear);
      await inForce(peer);
      await volatile.announce('t/apart', 1);
      await volatile.announce('t/apart/a', 2);
      await volatile.announce('t/apart/', 3);
      await volatile.announce('t/apart', 4);
      await one.until(2);
      await other.until(1);
      expect([one.all, other.all]).toEqual([[1, 4], [2]]);
    },
  },
  {
    name: 'whose listening has ended hears nothing more, others do, and may begin again',
    async run({ volatile, peer, patience }) {
      const ended = collected(patience);
      const stays = collected(patience);
      const again = collected(patience);
      const end = peer.listen('t/end', ended.hear);
      const endStay = peer.listen('t/end', stays.hear);
      await inForce(peer);
      await volatile.announce('t/end', 1);
      await stays.until(1);
      end();
      end();
      await volatile.announce('t/end', 2);
      await stays.until(2);
      endStay();
      peer.listen('t/end', again.hear);
      await inForce(peer);
      await volatile.announce('t/end', 3);
      await again.until(1);
      expect([ended.all, stays.all, again.all]).toEqual([[1], [1, 2], [3]]);
    },
  },
  {
    name: 'a node that is closed hears nothing more',
    async run({ volatile, peer, pass, patience }) {
      const heard = collected(patience);
      peer.listen('t/closed', heard.hear);
      await inForce(peer);
      await volatile.announce('t/closed', 1);
      await heard.until(1);
      await peer.close();
      await peer.close();
      await volatile.announce('t/closed', 2);
      await pass(100);
      expect(heard.all).toEqual([1]);
    },
  },
];

/** An announcement goes out when what its node listens to is in force. */
async function inForce(node: Volatile): Promise<void> {
  await node.announce('t/in-force', null);
}

function collected(patience = 10_000) {
  const all: Json[] = [];
  return {
    all,
    hear: (message: Json) => {
      all.push(message);
    },
    until: (count: number) =>
      vi.waitFor(() => expect(all.length).toBeGreaterThanOrEqual(count), { timeout: patience, interval: 5 }),
  };
}
