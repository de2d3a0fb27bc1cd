import { eventText, kindOfEvent } from './event-text.js';
import { issueSpans } from './plot.js';

/** Lanes of a time line, from above. */
export const lanes = [
  ['events', 'Events'],
  ['deliveries', 'Deliveries'],
  ['issues', 'Issues'],
];

/**
 * What happened in a session, oldest first: `{id, at, to?, lane, kind, title, detail, json}`, times in epoch ms.
 *
 * - `timeline`: entries of `GET /api/session/{id}/timeline`; undefined: the server has none, and `events` are those that this page saw.
 */
export function timelineOf({ session, points, events }) {
  const from = session.createdAtMs;
  const own = events
    .filter(({ stream, createdAt }) => stream?.id === session.parentId && createdAt >= from - 1000)
    .map((event) => entryOfEvent(event));
  const begun = {
    id: 'began',
    at: from,
    lane: 'events',
    kind: 'quiet',
    title: 'The session began',
    json: session,
  };
  const seen = own.some(({ title }) => title === 'stream.idle');
  const ended =
    session.isActive || seen || !session.lastSeen
      ? []
      : [
          {
            id: 'last',
            at: session.lastSeen,
            lane: 'events',
            kind: 'quiet',
            title: 'The last media arrived',
          },
        ];
  return [begun, ...own, ...ended, ...issuesIn(points)].sort((a, b) => a.at - b.at);
}

function entryOfEvent(event) {
  const { detail } = eventText(event);
  const { id, createdAt: at, event: title } = event;
  return { id, at, lane: 'events', kind: kindOfEvent(event), title, detail, json: event };
}

function issuesIn(points) {
  return issueSpans(points).map(({ from, to, text }) => ({
    id: `issue ${from} ${text}`,
    at: from,
    to,
    lane: 'issues',
    kind: 'warn',
    title: text,
  }));
}

/** From when to when the time line goes, epoch ms. */
export function extentOf(session, { points, entries }) {
  const times = [session.createdAtMs, session.lastSeen ?? 0, ...entries.map(({ at, to }) => to ?? at)];
  const last = Math.max(...times, points.at(-1)?.time ?? 0);
  return [session.createdAtMs, Math.max(last, session.createdAtMs + 10_000)];
}
