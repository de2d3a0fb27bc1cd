import { eventText, kindOfEvent } from './event-text.js';
import { issueSpans } from './plot.js';

/** Lanes of a time line, from above. */
export const lanes = [
  ['states', 'States'],
  ['events', 'Events'],
  ['deliveries', 'Deliveries'],
  ['issues', 'Issues'],
];

/**
 * What happened in a session, oldest first: `{id, at, to?, lane, kind, title, detail, json}`, times in epoch ms.
 *
 * - `timeline`: entries of `GET /api/session/{id}/timeline`; undefined: the server has none, and `events` that this page saw take their place.
 */
export function timelineOf({ session, points, timeline, events }) {
  const known = timeline ? timeline.map(entryOf) : entriesOfEvents(session, events);
  return [...known, ...statesIn(timeline ?? [], session), ...issuesIn(points)].sort((a, b) => a.at - b.at);
}

const kindOfState = { connecting: 'wait', live: 'on-air' };

/** From each state to the next one. The last one of a session that is over says nothing. */
function statesIn(timeline, { isActive }) {
  const states = timeline.filter(({ kind }) => kind === 'state');
  return states.flatMap(({ at, state }, index) => {
    const to = states[index + 1]?.at ?? (isActive ? Date.now() : undefined);
    return to === undefined
      ? []
      : [{ id: `state ${at}`, at, to, lane: 'states', kind: kindOfState[state] ?? 'quiet', title: state }];
  });
}

function entriesOfEvents(session, events) {
  const from = session.createdAtMs;
  const own = events
    .filter(({ stream, createdAt }) => stream?.id === session.parentId && createdAt >= from - 1000)
    .map((event) => entryOfEvent(event));
  return [
    { id: 'began', at: from, lane: 'events', kind: 'quiet', title: 'The session began', json: session },
    ...own,
  ];
}

function entryOf(entry, index) {
  const { at, kind, id = `entry ${index}`, event } = entry;
  if (kind === 'delivery') {
    const { attempt, success, duration, status, error } = entry;
    const answer = success ? `answered ${status} after ${duration} ms` : (error ?? `answered ${status}`);
    const detail = `${answer}${attempt > 1 ? `, attempt ${attempt}` : ''}`;
    return {
      id,
      at,
      lane: 'deliveries',
      kind: success ? 'good' : 'bad',
      title: `delivery of ${event}`,
      detail,
      json: entry,
    };
  }
  if (event === undefined)
    return { id, at, lane: 'events', kind: 'quiet', title: 'The session began', json: entry };
  const { detail } = eventText(kind === 'health' ? { event, payload: { health: entry } } : entry);
  const sign = kindOfEvent(kind === 'health' ? { event, payload: { health: entry } } : entry);
  return { id, at, lane: 'events', kind: sign, title: event, detail, json: entry };
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

/** Behind a session as much of what came later is shown, as a part of its length. */
const later = 0.25;

/** From when to when the time line goes, epoch ms. A delivery that is repeated for days does not squeeze the session. */
export function extentOf({ createdAtMs: from, lastSeen = 0, isActive }, { points, entries }) {
  const end = Math.max(from + 10_000, lastSeen, points.at(-1)?.time ?? 0);
  const last = Math.max(end, ...entries.map(({ at, to }) => to ?? at));
  return [from, isActive ? last : Math.min(last, end + Math.max(30_000, (end - from) * later))];
}
