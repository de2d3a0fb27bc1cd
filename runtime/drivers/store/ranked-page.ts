import { lastNameRank, nameRank } from '../../../core/http/listing.ts';
import type { Place, StoredResource } from '../../../core/ports/store.ts';
import { FoundRows } from './found-rows.ts';

/**
 * A page ranked by likeness of the name. Each rank is in the order of the whole list, so one walk over the list, newest
 * first, fills all ranks at one time; it ends when the first of them alone makes the page. In the last rank, which
 * nothing follows, the walk goes on from the place itself.
 *
 * @param walk rows that fit, stretch by stretch, from a place on
 */
export async function rankedPage(
  walk: (after: Place | undefined) => AsyncIterable<readonly StoredResource[]>,
  { likeName, limit, characters, after }: RankedQuery,
): Promise<StoredResource[]> {
  const from = after ? nameRank(after.name ?? '', likeName) : 0;
  const ranks = Array.from({ length: lastNameRank + 1 }, () => new FoundRows({ limit, characters }));
  for await (const rows of walk(from === lastNameRank ? after : undefined)) {
    for (const row of rows) {
      const rank = nameRank(row.name, likeName);
      if (rank < from || (rank === from && after && !isOlder(row, after))) continue;
      ranks[rank]?.add([row]);
    }
    if (ranks[from]?.isFull) break;
  }
  const page = new FoundRows({ limit, characters });
  for (const { rows } of ranks) page.add(rows);
  return page.rows;
}

interface RankedQuery {
  readonly likeName: string;
  readonly limit: number;
  readonly characters: number;
  readonly after?: Place;
}

function isOlder(row: StoredResource, place: Place): boolean {
  return row.createdAt < place.createdAt || (row.createdAt === place.createdAt && row.id < place.id);
}
