import { partitionOf } from '../../../actors/actor-name.ts';

/** What has keys of its own: a partition, or the rows that no partition writes. One call touches one shard. */
export type Shard = number | 'plain';

export interface Keys {
  /** Key of a shard: `{<namespace>.<shard>}:<name>`. What is between the braces keeps a shard in one place of a cluster. */
  of(shard: Shard, name: string): string;
  /** Key of the event log. */
  log(name: string): string;
  /** What the data is bound to. */
  readonly facts: string;
}

/** Throws a RangeError when the namespace cannot be part of a key. */
export function keys(namespace: string): Keys {
  if (!/^[a-zA-Z0-9._-]{1,64}$/.test(namespace)) {
    throw new RangeError(`redis.namespace is "${namespace}"; expected 1 to 64 of a-z A-Z 0-9 . _ -`);
  }
  return {
    of: (shard, name) => `{${namespace}.${shard}}:${name}`,
    log: (name) => `{${namespace}.log}:${name}`,
    facts: `{${namespace}}:facts`,
  };
}

/** The shard that an id most likely belongs to. */
export function likelyShard(id: string, partitions: number): Shard {
  return partitions === 0 ? 'plain' : partitionOf(id, partitions);
}

/** Number that the `Outbox` knows a shard by. */
export function shardOf(partition: number): Shard {
  return partition === -1 ? 'plain' : partition;
}
