import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { fairTurn } from '../../core/base/fair-turns.ts';
import { object, oneOf, optional } from '../../core/base/schema.ts';
import { cursorOf, placeOf } from '../../core/http/list.ts';
import { idSchema, momentSchema } from '../../core/http/operation.ts';
import { invalidQuery } from '../../core/http/query.ts';
import { type EventFeed, isEndOfLog } from '../../core/plugin/events.ts';
import type { LoggedEvent } from '../../core/ports/store.ts';
import type { DeliveryLog, LoggedDelivery } from './contract.ts';

/**
 * Events read in one query, and queries of one request: others of the account may be between those of a session. A query blocks the
 * thread that serves everybody for about 1 ms (200 events of 1 kB, fewer of larger ones), so others have their turn between two.
 */
const page = 200;
const pageCharacters = 262_144;
const maxPages = 50;
/** By how much the clocks of nodes may differ, ms: the log is in order of time but for that. */
const clockSlack = 10_000;
/** Where the search in the log stops, in positions: reading them is quicker. */
const nearEnough = 500;
/** Characters of an event whose payload is shown; the event stream and webhooks have longer ones. */
const maxShown = 8192;

/** The session of a timeline, and when the next one of its stream began. */
export interface TimelineSession {
  readonly id: string;
  readonly account: string;
  readonly streamId: string;
  readonly from: number;
  /** Infinity: there is none yet. */
  readonly until: number;
}

/** How far a reader has come, in both logs. */
interface Reached {
  /** In the event log. */
  readonly position: number;
  /** The last delivery. */
  readonly createdAt: number;
  readonly id: string;
}

/**
 * What happened in a session, oldest first: its events from the log, and attempts to deliver them. `cursor` of the answer is for the
 * next page, which may be empty: a request reads only so much of the log. Throws 422 `query.invalid` for a wrong cursor.
 */
export async function timelinePage(
  session: TimelineSession,
  options: {
    readonly cursor: string | null;
    readonly limit: number;
    readonly feed: Pick<EventFeed, 'after'>;
    readonly deliveries: DeliveryLog | undefined;
  },
): Promise<{ entries: TimelineEntry[]; cursor: string | undefined }> {
  const { cursor, limit, feed, deliveries } = options;
  const { account, streamId, from, until } = session;
  const list = `timeline ${session.id}`;
  const begun: Reached =
    cursor === null
      ? { position: await positionBefore(from - clockSlack, { account, feed }), createdAt: from, id: '' }
      : reachedOf(cursor, list);
  const events = await eventsOf(session, { position: begun.position, limit, feed });
  const place = { createdAt: begun.createdAt, id: begun.id };
  const attempts = (await deliveries?.after(streamId, { account, place, limit: limit + 1 })) ?? [];
  // What comes later than the last event that was read waits for the next page.
  const ready = attempts.filter(({ at }) => at < until && at <= events.readTo);
  const entries: TimelineEntry[] = cursor === null ? [{ at: from, kind: 'state', state: 'connecting' }] : [];
  let [nextEvent, nextAttempt] = [0, 0];
  while (entries.length < limit) {
    const event = events.found[nextEvent];
    const attempt = ready[nextAttempt];
    if (event && (!attempt || event.at <= attempt.at)) {
      entries.push(eventEntry(event));
      nextEvent += 1;
    } else if (attempt) {
      entries.push({ ...attempt, kind: 'delivery' });
      nextAttempt += 1;
    } else break;
  }
  const isLast =
    events.isEnd &&
    nextEvent === events.found.length &&
    nextAttempt === ready.length &&
    (attempts.length <= limit || ready.length < attempts.length);
  if (isLast) return { entries, cursor: undefined };
  const waiting = events.found[nextEvent];
  const last: LoggedDelivery | undefined = ready[nextAttempt - 1];
  const reached = {
    position: waiting ? waiting.position - 1 : events.position,
    ...(last ? { createdAt: last.at, id: last.id } : place),
  };
  return { entries, cursor: cursorOf({ ...reached, name: String(reached.position) }, list) };
}

function reachedOf(cursor: string, list: string): Reached {
  const { createdAt, id, name = '' } = placeOf(cursor, list);
  const position = /^\d{1,16}$/.test(name) ? Number(name) : Number.NaN;
  if (!Number.isSafeInteger(position))
    throw invalidQuery('cursor: expected one from the Link header of this session');
  return { createdAt, id, position };
}

/** At most one more than `limit`. `readTo`: up to when the log was read, epoch ms; `isEnd`: there are no more. */
async function eventsOf(
  { account, streamId, from, until }: TimelineSession,
  { position, limit, feed }: { position: number; limit: number; feed: Pick<EventFeed, 'after'> },
): Promise<{ found: LoggedEvent[]; position: number; readTo: number; isEnd: boolean }> {
  const found: LoggedEvent[] = [];
  let reached = position;
  let readTo = Number.NEGATIVE_INFINITY;
  const asked = { account, limit: page, characters: pageCharacters };
  for (let read = 0; read < maxPages; read += 1) {
    if (read > 0) await fairTurn(account);
    const events = await feed.after(reached, asked);
    for (const event of events) {
      if (event.at >= until + clockSlack || found.length > limit)
        return { found, position: reached, readTo: Number.POSITIVE_INFINITY, isEnd: found.length <= limit };
      reached = event.position;
      readTo = Math.max(readTo, event.at);
      if (event.stream === streamId && event.at >= from && event.at < until) found.push(event);
    }
    if (isEndOfLog(events, asked))
      return { found, position: reached, readTo: Number.POSITIVE_INFINITY, isEnd: found.length <= limit };
  }
  return { found, position: reached, readTo, isEnd: false };
}

/** A position of the event log before everything that happened at or after a time: by halving, as the log has no index of times. */
async function positionBefore(
  time: number,
  { account, feed }: { account: string; feed: Pick<EventFeed, 'after'> },
): Promise<number> {
  const before = async (position: number): Promise<number | undefined> => {
    const [event] = await feed.after(position, { account, limit: 1 });
    return event && event.at < time ? event.position : undefined;
  };
  let low = await before(0);
  if (low === undefined) return 0;
  let step = nearEnough;
  for (let next = await before(low + step); next !== undefined; next = await before(low + step)) {
    low = next;
    step *= 2;
  }
  for (let high = low + step; high - low > nearEnough; ) {
    const middle = Math.floor((low + high) / 2);
    const next = await before(middle);
    if (next === undefined) high = middle;
    else low = Math.max(middle, next);
  }
  return low;
}

/** An event in words of the timeline: some say that the stream, or its health, is another one now. */
function eventEntry({ id, at, type, body }: LoggedEvent): TimelineEntry {
  const payload = body.length <= maxShown ? (JSON.parse(body) as { payload?: Payload }).payload : undefined;
  const own = { at, id, event: type };
  const state = states[type];
  if (state) return { ...own, kind: 'state', state };
  if (type === 'stream.health' && payload?.health) {
    const { isHealthy, issues } = payload.health;
    return { ...own, kind: 'health', isHealthy, issues: [...issues] };
  }
  return { ...own, kind: 'event', ...(payload !== undefined && { payload }) };
}

interface Payload {
  readonly health?: { readonly isHealthy: boolean; readonly issues: readonly string[] };
}

const states: Readonly<Record<string, 'live' | 'idle'>> = { 'stream.started': 'live', 'stream.idle': 'idle' };

const eventName = Type.String({ examples: ['stream.started'] });

const stateEntry = object({
  at: momentSchema,
  kind: Type.Literal('state'),
  state: oneOf(['connecting', 'live', 'idle'], {
    description:
      '`connecting`: the first connection; `live`: the playlist works; `idle`: it no longer works.',
  }),
  id: optional.string({ description: 'Of the event that says so.' }),
  event: Type.Optional(eventName),
});

const healthEntry = object({
  ...{ at: momentSchema, kind: Type.Literal('health'), id: Type.String(), event: eventName },
  isHealthy: Type.Boolean({ examples: [false] }),
  issues: Type.Array(Type.String(), { examples: [['No key frame for 6 s.']] }),
});

const plainEntry = object({
  ...{ at: momentSchema, kind: Type.Literal('event'), id: Type.String(), event: eventName },
  payload: Type.Optional(
    Type.Unknown({ description: 'As in the event; absent when the event has more than 8 KiB.' }),
  ),
});

const deliveryEntry = object({
  at: momentSchema,
  kind: Type.Literal('delivery'),
  id: Type.String({
    description: 'Of the entry in the delivery log of the webhook.',
    examples: idSchema.examples,
  }),
  webhookId: idSchema,
  event: eventName,
  deliveryId: Type.String({ description: 'Id of the event.' }),
  attempt: Type.Integer({ description: '1 for the first; 0 for test and resend.', examples: [1] }),
  success: Type.Boolean(),
  duration: Type.Number({ description: 'Milliseconds.', examples: [41] }),
  status: Type.Optional(Type.Integer({ description: 'Of the answer.', examples: [200] })),
  error: optional.string({ description: 'Why there is no answer.' }),
});

/** What happened at one moment of a session. */
export const timelineEntrySchema: TSchema = Type.Union([stateEntry, plainEntry, healthEntry, deliveryEntry], {
  $id: 'TimelineEntry',
});

export type TimelineEntry =
  | Static<typeof stateEntry>
  | Static<typeof plainEntry>
  | Static<typeof healthEntry>
  | Static<typeof deliveryEntry>;
