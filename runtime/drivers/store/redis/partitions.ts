import { Fault } from '../../../../core/base/fault.ts';
import type { Store } from '../../../../core/ports/store.ts';
import type { Appender } from './appender.ts';
import type { Engine } from './engine.ts';
import { type Keys, likelyShard, type Shard } from './keys.ts';
import { redisLimits } from './limits.ts';
import type { Link } from './link.ts';
import { actorOf, ordersOf, timersOf } from './partition-state.ts';

export interface PartitionsOptions {
  readonly link: Link;
  readonly engine: Engine;
  readonly keys: Keys;
  readonly log: Appender;
}

export interface Partitions
  extends Pick<Store, 'acquire' | 'load' | 'isConsumed' | 'timers' | 'orders' | 'acknowledge'> {
  /** All that there are; the plain one is the last. */
  shards(): Promise<readonly Shard[]>;
}

/** Ownership of partitions, and what their owner reads of them. */
export function partitionsOf({ link, engine, keys, log }: PartitionsOptions): Partitions {
  let known: readonly Shard[] | undefined;

  const learn = (count: number): readonly Shard[] => {
    const partitions = Array.from({ length: count }, (_, partition) => partition);
    if (count > 0) known = [...partitions, 'plain'];
    return known ?? ['plain'];
  };
  const shards = async () =>
    known ?? learn(Number((await link.read(['HGET', keys.facts, 'partitions'])) ?? 0));
  const partitions = async () => (await shards()).filter((shard) => shard !== 'plain');

  /** Whole hashes of partitions, in stretches. */
  const readAll = async (name: string, some: readonly Shard[]) =>
    Promise.all(
      some.map(async (shard) => {
        const fields = new Map<string, string>();
        let cursor = '0';
        do {
          const [next, values] = (await link.read([
            ...['HSCAN', keys.of(shard, name), cursor],
            ...['COUNT', String(redisLimits.stretch)],
          ])) as [string, string[]];
          for (let at = 0; at < values.length; at += 2) fields.set(values[at] ?? '', values[at + 1] ?? '');
          cursor = next;
        } while (cursor !== '0');
        return fields;
      }),
    );

  return {
    shards,

    async acquire(count, { partitions: some, log: identity = '' } = {}) {
      if (!Number.isInteger(count) || count < 1) {
        throw new RangeError(`${count} is not a number of partitions`);
      }
      const bound = (await engine.change('bind', keys.facts, [String(count), identity])) as string[];
      if (bound[0] !== 'ok') throw misfit(bound, { count, identity });
      const wanted = (learn(count) as (number | 'plain')[]).filter(
        (shard) => shard !== 'plain' && (some?.includes(shard) ?? true),
      ) as number[];
      const leases = await Promise.all(
        wanted.map(async (partition) => {
          const answer = (await engine.change('acquire', keys.of(partition, 'head'), [])) as string[];
          const [epoch = 0, counter = 0, offset = -1] = answer.map(Number);
          return { partition, epoch, counter, offset };
        }),
      );
      // Former owners write nothing more, so this is all that they may have left on the way to the log.
      await Promise.all([...wanted, 'plain' as const].map((shard) => log.recover(shard)));
      return leases;
    },

    async load(actor, partition) {
      if (partition !== undefined) {
        const stored = await link.read(['HGET', keys.of(partition, 'actors'), actor]);
        return stored === null ? undefined : actorOf(stored as string);
      }
      const all = await shards();
      const likely = likelyShard(actor.slice(actor.indexOf('/') + 1), all.length - 1);
      for (const some of [[likely], all.filter((shard) => shard !== likely && shard !== 'plain')]) {
        const stored = await Promise.all(
          some.map((shard) => link.read(['HGET', keys.of(shard, 'actors'), actor])),
        );
        const found = stored.find((one) => one !== null);
        if (found) return actorOf(found as string);
      }
      return undefined;
    },

    async isConsumed(cause) {
      const found = await Promise.all(
        (await partitions()).map((shard) => link.read(['HEXISTS', keys.of(shard, 'causes'), cause])),
      );
      return found.includes(1);
    },

    async timers(some) {
      const stored = await readAll('timers', some ?? (await partitions()));
      return timersOf(new Map(stored.flatMap((fields) => [...fields])));
    },

    async orders(some) {
      return (await readAll('orders', some ?? (await partitions()))).flatMap(ordersOf);
    },

    async acknowledge(orderIds) {
      if (orderIds.length === 0) return;
      // Sent at once where it can be, so that it keeps its place among the calls.
      const all = (known ?? (await shards())).filter((shard) => shard !== 'plain');
      await Promise.all(all.map((shard) => link.write(['HDEL', keys.of(shard, 'orders'), ...orderIds])));
    },
  };
}

function misfit([what, stored]: readonly string[], given: { count: number; identity: string }): Fault {
  const message =
    what === 'partitions'
      ? `the data has ${stored} partitions, which is fixed for its life; ${given.count} are configured`
      : `the data was filled from the command log ${stored}; this one is ${given.identity}`;
  return new Fault(`store.${what}`, { status: 500, message });
}
