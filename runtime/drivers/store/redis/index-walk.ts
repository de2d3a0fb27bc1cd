import type { Keys, Shard } from './keys.ts';
import { redisLimits } from './limits.ts';
import type { Link } from './link.ts';
import { compareBytes } from './rows.ts';

const stretch = redisLimits.stretch;

/** Entries of one index, in the order of their bytes, over all shards. */
export interface IndexRange {
  /** Name of the index, the same in each shard. */
  readonly index: string;
  readonly descending: boolean;
  /** Where to begin, as ZRANGE BYLEX wants it; default from the first one on. */
  readonly from?: string;
  /** How many are likely to be wanted. */
  readonly wanted: number;
}

/** A member of an index, and whose it is. */
export interface IndexEntry {
  readonly member: string;
  readonly shard: Shard;
}

interface Source {
  readonly shard: Shard;
  entries: string[];
  next: number;
  from: string | undefined;
  isDone: boolean;
}

/**
 * Merges what the shards have. One trip asks all of them; a further one is made only of those that have been used up.
 * Yields what can be told at each point, so in stretches of any size.
 */
export async function* walkIndex(
  { link, keys, shards }: { link: Link; keys: Keys; shards: readonly Shard[] },
  range: IndexRange,
): AsyncGenerator<readonly IndexEntry[]> {
  const { index, descending, from } = range;
  const sign = descending ? -1 : 1;
  const size = Math.min(stretch, range.wanted);
  const sources: Source[] = shards.map((shard) => ({ shard, entries: [], next: 0, from, isDone: false }));

  const refill = async (source: Source) => {
    const bounds = [source.from ?? (descending ? '+' : '-'), descending ? '-' : '+'];
    const entries = await link.read([
      ...['ZRANGE', keys.of(source.shard, index), ...bounds, 'BYLEX'],
      ...[...(descending ? ['REV'] : []), 'LIMIT', '0', String(size)],
    ]);
    source.entries = entries as string[];
    source.next = 0;
    source.isDone = source.entries.length < size;
    source.from = `(${source.entries.at(-1)}`;
  };

  for (;;) {
    await Promise.all(sources.filter((one) => isUsedUp(one) && !one.isDone).map(refill));
    let merged: IndexEntry[] = [];
    for (;;) {
      let first: Source | undefined;
      let isBlind = false;
      for (const source of sources) {
        if (isUsedUp(source)) {
          isBlind ||= !source.isDone;
          continue;
        }
        if (!first || sign * compareBytes(memberOf(source), memberOf(first)) < 0) first = source;
      }
      if (!first || isBlind) break;
      merged.push({ member: memberOf(first), shard: first.shard });
      first.next += 1;
      // Whoever asks may have enough by then.
      if (merged.length === size) {
        yield merged;
        merged = [];
      }
    }
    if (merged.length > 0) yield merged;
    if (sources.every((source) => isUsedUp(source) && source.isDone)) return;
  }
}

function memberOf(source: Source): string {
  return source.entries[source.next] as string;
}

function isUsedUp(source: Source): boolean {
  return source.next >= source.entries.length;
}
