import { fullOrder, lastNameRank, nameRank } from '../../../../core/listing.ts';
import type { ListQuery, ListScope, Place, StoredResource } from '../../../../core/ports/store.ts';
import type { Reads } from './connection.ts';
import { storeLimits } from './limits.ts';
import { checkLimit, type WalkQuery } from './listing.ts';

/** The thread that answers lists also carries the media. */
const stretch = storeLimits.stretch.value;
const counted = storeLimits.counted.value;

/** One page of a list. */
export async function page(
  reads: Reads,
  { kind, ...query }: ListQuery & { kind: string },
): Promise<StoredResource[]> {
  checkLimit(query.limit);
  if (query.likeName !== undefined) return rankedPage(reads, { kind, ...query, likeName: query.likeName });
  const { limit, order, ...scope } = query;
  const found: StoredResource[] = [];
  for await (const rows of stretches(reads, { ...scope, kind, order: fullOrder(order), limit })) {
    found.push(...rows.slice(0, limit - found.length));
    if (found.length === limit) break;
  }
  return found;
}

/** How many rows a scope has. */
export async function count(reads: Reads, query: ListScope & { kind: string }): Promise<number> {
  const { kind, account, where = {}, filters = [] } = query;
  const [condition, ...others] = Object.entries(where);
  let total = 0;
  if (others.length > 0 || filters.length > 0) {
    const scope = { kind, account, where, filters };
    const walk: WalkQuery = { ...scope, order: fullOrder(undefined), limit: stretch };
    for await (const rows of stretches(reads, walk)) total += rows.length;
    return total;
  }
  let after: Place | undefined;
  for (;;) {
    const { rows, rest } = await reads.countRows({ kind, account, condition, after, limit: counted });
    total += rows;
    if (!rest) return total;
    after = rest;
    await othersTurn();
  }
}

/**
 * A page ranked by likeness of the name. Each rank is in the order of the whole list, so one walk over the list
 * fills all ranks at one time; it ends when the first of them alone makes the page. In the last rank, which
 * nothing follows, the walk goes on from the place itself.
 */
async function rankedPage(
  reads: Reads,
  query: ListQuery & { kind: string; likeName: string },
): Promise<StoredResource[]> {
  const { likeName, limit, after, order: _, ...scope } = query;
  const from = after ? nameRank(after.name ?? '', likeName) : 0;
  const ranks: StoredResource[][] = Array.from({ length: lastNameRank + 1 }, () => []);
  const walk: WalkQuery = {
    ...scope,
    order: fullOrder(undefined),
    ...(from === lastNameRank && { after }),
    limit: stretch,
  };
  for await (const rows of stretches(reads, walk)) {
    for (const row of rows) {
      const rank = nameRank(row.name, likeName);
      if (rank < from || (rank === from && after && !isOlder(row, after))) continue;
      const like = ranks[rank];
      if (like && like.length < limit) like.push(row);
    }
    if (ranks[from]?.length === limit) break;
  }
  return ranks.flat().slice(0, limit);
}

/** The rows that fit, stretch by stretch; in between it is others' turn. */
async function* stretches(reads: Reads, query: WalkQuery): AsyncGenerator<readonly StoredResource[]> {
  let { after, limit } = query;
  for (;;) {
    const { rows, rest } = await reads.walk({ ...query, after, limit });
    yield rows;
    if (!rest) return;
    after = rest;
    limit = stretch;
    await othersTurn();
  }
}

function isOlder(row: StoredResource, place: Place): boolean {
  return row.createdAt < place.createdAt || (row.createdAt === place.createdAt && row.id < place.id);
}

function othersTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
