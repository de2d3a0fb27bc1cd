import type { Outbox, OutboxEntry } from '../../../../core/ports/store.ts';
import { checkLimit } from './check-limit.ts';
import { type Keys, type Shard, shardOf } from './keys.ts';
import { redisLimits } from './limits.ts';
import type { Link } from './link.ts';

export interface Outboxes extends Outbox {
  /** The oldest entries after a number. */
  after(shard: Shard, number: number, limit: number): Promise<OutboxEntry[]>;
}

/** A stream of each shard; a commit adds to it (`lua/rows.lua`), its entries' ids are `<number>-0`. */
export function outboxes({ link, keys }: { link: Link; keys: Keys }): Outboxes {
  const after: Outboxes['after'] = async (shard, number, limit) => {
    const key = keys.of(shard, 'outbox');
    const entries = await link.read(['XRANGE', key, `${number + 1}-0`, '+', 'COUNT', String(limit)]);
    const partition = shard === 'plain' ? -1 : shard;
    return (entries as [string, string[]][]).map(([id, [, text]]) => ({
      ...(JSON.parse(text ?? '') as OutboxEntry),
      number: Number.parseInt(id, 10),
      partition,
    }));
  };
  return {
    after,
    async pending(partition, { limit }) {
      checkLimit(limit, redisLimits.readEvents);
      return after(shardOf(partition), 0, limit);
    },
    async settle(partition, numbers) {
      if (numbers.length === 0) return;
      const key = keys.of(shardOf(partition), 'outbox');
      await link.write(['XDEL', key, ...numbers.map((number) => `${number}-0`)]);
    },
  };
}
