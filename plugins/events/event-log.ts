import { fairTurn } from '../../core/base/fair-turns.ts';
import { cursorOf, placeOf } from '../../core/http/list.ts';
import { invalidQuery } from '../../core/http/query.ts';
import { type EventFeed, isEndOfLog } from '../../core/plugin/events.ts';
import { isWanted, type WantedEvents } from './wanted.ts';

/**
 * Events read in one query, and queries of one request: those that are not wanted may be between those that are. A query blocks the
 * thread that serves everybody for about 1 ms (200 events of 1 kB, fewer of larger ones), so others have their turn between two.
 */
const read = 200;
const readCharacters = 262_144;
const maxReads = 25;
/** Characters that one request reads, about: the payload of an event may have 64 KiB. */
const maxCharacters = 4_000_000;

/**
 * The events that the log still has, newest first: at most `limit` of their bodies, as a JSON array. `cursor` is for the next page, which
 * may be empty: a request reads only so much of the log. Throws 422 `query.invalid` for a wrong cursor.
 */
export async function logPage(
  wanted: WantedEvents,
  { feed, cursor, limit }: { feed: Pick<EventFeed, 'before'>; cursor: string | null; limit: number },
): Promise<{ body: string; cursor: string | undefined }> {
  const list = `events ${JSON.stringify([wanted.type, wanted.streamId])}`;
  const isPlain = wanted.type === null && wanted.streamId === null;
  const asked = {
    ...{ account: wanted.account, characters: readCharacters },
    limit: isPlain ? Math.min(limit, read) : read,
  };
  const found: string[] = [];
  let reached = cursor === null ? Number.MAX_SAFE_INTEGER : positionOf(cursor, list);
  let characters = 0;
  const page = (isEnd: boolean) => ({
    body: `[${found.join(',')}]`,
    cursor: isEnd ? undefined : cursorOf({ createdAt: 0, id: '', name: String(reached) }, list),
  });
  for (let reads = 0; reads < maxReads; reads += 1) {
    if (reads > 0) await fairTurn(wanted.account);
    const events = await feed.before(reached, asked);
    for (const event of events) {
      // Known only now that there is one more.
      if (found.length === limit || characters > maxCharacters) return page(false);
      reached = event.position;
      characters += event.body.length;
      if (isWanted(event, wanted)) found.push(event.body);
    }
    if (isEndOfLog(events, asked)) return page(true);
  }
  return page(false);
}

function positionOf(cursor: string, list: string): number {
  const position = Number(placeOf(cursor, list).name);
  if (!Number.isSafeInteger(position))
    throw invalidQuery('cursor: expected one from the Link header of this list');
  return position;
}
