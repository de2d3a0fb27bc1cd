import { fairTurn } from '../../../../core/base/fair-turns.ts';
import { fullOrder } from '../../../../core/http/listing.ts';
import type { ListQuery, ListScope, Place, StoredResource } from '../../../../core/ports/store.ts';
import { FoundRows } from '../found-rows.ts';
import { rankedPage } from '../ranked-page.ts';
import { checkLimit, type WalkQuery } from './listing.ts';
import type { Reads } from './reader.ts';

/** Rows looked at in one go, at most a millisecond of work: the thread that answers lists also carries the media. */
const stretch = 256;
/** Rows counted in one go: a quarter of a millisecond. */
const counted = 1000;

/** One page of a list. */
export async function page(
  reads: Reads,
  { kind, ...query }: ListQuery & { kind: string },
): Promise<StoredResource[]> {
  checkLimit(query.limit);
  const { limit, order, likeName, characters = Number.POSITIVE_INFINITY, ...scope } = query;
  if (likeName !== undefined) {
    const whole = { ...scope, kind, order: fullOrder(undefined), limit: stretch };
    const ranked = { likeName, limit, characters, after: query.after };
    return rankedPage((after) => stretches(reads, { ...whole, after }), ranked);
  }
  const found = new FoundRows({ limit, characters });
  for await (const rows of stretches(reads, { ...scope, kind, order: fullOrder(order), limit })) {
    found.add(rows);
    if (found.isFull) break;
  }
  return found.rows;
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
    await fairTurn(account ?? '');
  }
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
    await fairTurn(query.account ?? '');
  }
}
