import { causesOf } from './causes.ts';
import {
  durationWords,
  type Entry,
  type Facts,
  type Point,
  type Refused,
  type Session,
  type Stream,
} from './facts.ts';
import { timelineWords } from './timeline-words.ts';

/** Reads a path below `/api` as the asker may: undefined where there is nothing of the kind. Throws `Unreadable` where it cannot. */
export type Read = (
  path: string,
) => Promise<{ readonly body: unknown; readonly link: string | null } | undefined>;

/** Why something could not be read, in plain words. */
export class Unreadable extends Error {}

/** Entries of a timeline that are read, a page of them, and lines of it that are shown. */
const maxEntries = 2000;
const page = 500;
const maxLines = 120;
/** Sessions of a stream among which the one of a moment is looked for. */
const maxSessions = 200;

/** What a session was like, in words: what went wrong and why, then what happened when. */
export async function diagnose(
  { stream: wanted, at }: { readonly stream: string; readonly at?: number | undefined },
  { read, now }: { readonly read: Read; readonly now: number },
): Promise<string> {
  const found = await streamOf(wanted, read);
  if (typeof found === 'string') return found;
  const { stream, sessions } = found;
  const unseen: string[] = [];
  const session = sessionAt(sessions, at);
  const get = async <T>(path: string, what: string): Promise<T | undefined> => {
    try {
      return (await read(path))?.body as T | undefined;
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      unseen.push(`${what}: ${error.message}`);
      return undefined;
    }
  };
  const refused = (await get<Refused[]>('/api/ingest/refused', 'refused publishes')) ?? [];
  const points = session && (await get<Point[]>(`/api/stream/${session.id}/health`, 'the history of health'));
  const timeline = session ? await timelineOf(session.id, { read, unseen }) : [];
  const facts: Facts = {
    ...{ stream, session, points: points ?? [], timeline, now },
    ...{
      refused: ofStream(refused, { stream, from: session?.createdAtMs, until: endOf(session, sessions) }),
    },
  };
  const causes = causesOf(facts);
  const lines = timelineWords(facts);
  return [
    headline(facts),
    '',
    ...(causes.length === 0 ? ['Nothing wrong was found.'] : ['What was found, the worst first:']),
    ...causes.map(({ text }, index) => `${index + 1}. ${text}`),
    ...(lines.length === 0
      ? []
      : ['', `Time line (UTC)${shownPart(lines.length)}:`, ...lines.slice(-maxLines)]),
    ...(unseen.length === 0 ? [] : ['', 'Could not be seen:', ...unseen.map((one) => `- ${one}`)]),
  ].join('\n');
}

/** A stream by its id, that of one of its sessions, or its name; with its sessions, the newest first. Or why there is none. */
async function streamOf(
  wanted: string,
  read: Read,
): Promise<{ stream: Stream; sessions: readonly Session[] } | string> {
  const direct = /^[\w-]{1,64}$/.test(wanted) ? await read(`/api/stream/${wanted}`) : undefined;
  const known = direct?.body as (Stream & Session) | undefined;
  if (known?.parentId) {
    const parent = (await read(`/api/stream/${known.parentId}`))?.body as Stream | undefined;
    return { stream: parent ?? known, sessions: [known] };
  }
  const stream = known ?? (await named(wanted, read));
  if (typeof stream === 'string') return stream;
  const sessions = await read(`/api/stream/${stream.id}/sessions?limit=${maxSessions}`);
  return { stream, sessions: (sessions?.body ?? []) as Session[] };
}

async function named(name: string, read: Read): Promise<Stream | string> {
  const filters = encodeURIComponent(JSON.stringify([{ id: 'name', value: name }]));
  const found = ((await read(`/api/stream?filters=${filters}&limit=20`))?.body ?? []) as Stream[];
  const streams = found.filter(({ parentId }) => !parentId);
  const exact = streams.filter((one) => one.name === name);
  const [only, ...more] = exact.length > 0 ? exact : streams;
  if (only && more.length === 0) return only;
  if (streams.length === 0) return 'There is no stream of this id or name in the account of this key.';
  return `Several streams have this in their name; ask again with the id of one:\n${streams
    .map((one) => `- ${one.id}: ${one.name}`)
    .join('\n')}`;
}

/** The session that ran at a moment, or the last one that began before it; without a moment the newest. */
function sessionAt(sessions: readonly Session[], at: number | undefined): Session | undefined {
  const byAge = [...sessions].sort((a, b) => b.createdAtMs - a.createdAtMs);
  return at === undefined ? byAge[0] : (byAge.find(({ createdAtMs }) => createdAtMs <= at) ?? byAge.at(-1));
}

function endOf(session: Session | undefined, sessions: readonly Session[]): number {
  const later = sessions
    .map(({ createdAtMs }) => createdAtMs)
    .filter((at) => session && at > session.createdAtMs);
  return Math.min(Number.POSITIVE_INFINITY, ...later);
}

async function timelineOf(id: string, { read, unseen }: { read: Read; unseen: string[] }): Promise<Entry[]> {
  const entries: Entry[] = [];
  let path: string | undefined = `/api/session/${id}/timeline?limit=${page}`;
  // A page may be empty and have a next one: each reads only a part of the log.
  for (let pages = 0; path !== undefined && entries.length < maxEntries && pages < 20; pages += 1) {
    try {
      const answer: Awaited<ReturnType<Read>> = await read(path);
      if (answer === undefined) return entries;
      entries.push(...(answer.body as Entry[]));
      const [, next] = /<([^>]+)>; *rel="next"/.exec(answer.link ?? '') ?? [];
      path = next === undefined ? undefined : `${new URL(next).pathname}${new URL(next).search}`;
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      unseen.push(`the time line of the session: ${error.message}`);
      return entries;
    }
  }
  if (path !== undefined)
    unseen.push(`what happened after the first ${entries.length} entries of the time line`);
  return entries;
}

/** Before a session, encoders may have been refused for long; ms. */
const refusedBefore = 3_600_000;

/** Refused publishes with the key of the stream; with a wrong key, those from the address of the asker. */
function ofStream(
  refused: readonly Refused[],
  { stream, from = 0, until }: { stream: Stream; from: number | undefined; until: number },
): Refused[] {
  const tail = stream.streamKey?.slice(-4);
  return refused.filter(
    ({ at, key, reason, isYours }) =>
      at >= from - refusedBefore &&
      at < until &&
      (tail !== undefined && key?.endsWith(tail)
        ? true
        : isYours === true && /^(unknown|missing)_/.test(reason)),
  );
}

function headline({ stream, session, now }: Facts): string {
  const name = `Stream "${stream.name}" (${stream.id})`;
  const off = stream.suspended ? ' It is suspended: encoders are refused.' : '';
  if (!session) return `${name} has not been broadcast yet.${off}`;
  const from = new Date(session.createdAtMs).toISOString();
  const end = session.isActive ? now : (session.lastSeen ?? session.createdAtMs);
  const length = durationWords(Math.max(0, end - session.createdAtMs));
  const state = session.isActive
    ? `on the air for ${length}`
    : `lasted ${length}, and is over or off the air`;
  return `${name}, session ${session.id}: began ${from}, ${state}.${off}`;
}

function shownPart(count: number): string {
  return count > maxLines ? `, the last ${maxLines} of ${count} lines` : '';
}
