import {
  type FindByName,
  findByName,
  type Kit,
  type PlaybackAliases,
  type PlaySubject,
  playableFinder,
  playables,
  playbackAliases,
} from '../../sdk/plugin.ts';
import type { MuxFields } from './fields.ts';
import { maxEntries, type Policy } from './settings.ts';

/** Rows of the playback ids that something has beside its own `playbackId`. */
export const playbackIdKind = 'mux-playback-id';

export interface PlaybackIdRow {
  readonly type: 'live_stream' | 'asset';
  /** Id of the stream or asset. */
  readonly object: string;
  /** Its own playback id. */
  readonly playbackId: string;
  readonly policy: Policy;
}

export interface PlaybackId {
  readonly id: string;
  readonly policy: Policy;
}

export const maxPlaybackIds = maxEntries;

const running = new Map<string, Promise<unknown>>();

/** Changes of what is kept with one object come one after the other on a node: each replaces the whole field. */
export async function inTurn<T>(id: string, change: () => Promise<T>): Promise<T> {
  const turn = (running.get(id) ?? Promise.resolve()).then(change);
  const settled = turn.catch(() => {});
  running.set(id, settled);
  await settled;
  if (running.get(id) === settled) running.delete(id);
  return turn;
}

/** A playback id that is not something's own, and its account. Undefined: there is none. */
export async function storedPlaybackId(
  id: string,
  { resources }: Pick<Kit, 'resources'>,
): Promise<(PlaybackIdRow & { readonly account: string }) | undefined> {
  const row = await resources.get(playbackIdKind, id);
  return row && { ...(JSON.parse(row.body) as PlaybackIdRow), account: row.account };
}

/** The policy of a further playback id of this subject; undefined for its own, and for names that are aliases of it. */
export async function furtherPolicy(
  id: string,
  { subject, kit }: { subject: PlaySubject; kit: Pick<Kit, 'resources'> },
): Promise<Policy | undefined> {
  const row = id === subject.playbackId ? undefined : await storedPlaybackId(id, kit);
  return row?.account === subject.account && row.playbackId === subject.playbackId ? row.policy : undefined;
}

/** Lets `/hls/{id}`, `/asset/{id}` and `/api/playback/{id}` find things by all of their playback ids. */
export function muxAliases(kit: Pick<Kit, 'resources'>): PlaybackAliases {
  return { find: async (alias) => (await storedPlaybackId(alias, kit))?.playbackId };
}

/** What is played under a playback id of any kind. Undefined: nothing. Faults of the playables. */
export function subjectFinder(
  kit: Pick<Kit, 'caller' | 'clock' | 'offered'>,
): (id: string, request: Request) => Promise<PlaySubject | undefined> {
  const known = playableFinder(kit.offered(playables));
  const byName: FindByName = findByName({ aliases: kit.offered(playbackAliases), clock: kit.clock });
  return async (id, request) => (await byName(id, (own) => known(own, kit.caller(request))))?.subject;
}

/** Of a stream or an asset as our API shows it. */
interface Played {
  readonly playbackId: string;
  readonly playbackPolicy?: { readonly type: string } | null;
  readonly mux?: MuxFields;
}

/** The playback ids of a stream or asset. What was made with our own API has one. */
export function playbackIdsOf({ playbackId, playbackPolicy, mux }: Played): PlaybackId[] {
  const policy: Policy = playbackPolicy && playbackPolicy.type !== 'public' ? 'signed' : 'public';
  return (mux?.playbackIds ?? [{ policy }]).map((one) => ({ id: one.id ?? playbackId, policy: one.policy }));
}

/**
 * Who may watch something with these playback ids: as long as one of them is public, everybody. Without any, nobody has a token that
 * would do.
 */
export function policyFor(ids: readonly { readonly policy: Policy }[]): { readonly type: Policy } {
  return { type: ids.some(({ policy }) => policy === 'public') ? 'public' : 'signed' };
}

/** Of something new: the first is its own. */
export function newPlaybackIds(policies: readonly Policy[]): { id?: string; policy: Policy }[] {
  return policies.map((policy, index) => (index === 0 ? { policy } : { id: newId(), policy }));
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';
const idLength = 24;
const ownForm = /^[a-z0-9]{24}$/;

export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(idLength * 2));
  // 252 = 7 × 36: higher bytes would favour the first letters.
  const letters = [...bytes].filter((byte) => byte < 252).map((byte) => alphabet[byte % 36]);
  return letters.slice(0, idLength).join('');
}

/** Writes the rows of playback ids; those that are there stay. */
export async function storePlaybackIds(
  of: Omit<PlaybackIdRow, 'policy'> & {
    readonly account: string;
    readonly ids: readonly { id?: string; policy: Policy }[];
  },
  { resources, clock }: Pick<Kit, 'resources' | 'clock'>,
): Promise<void> {
  const { account, ids, ...rest } = of;
  const rows = ids.flatMap(({ id, policy }) => {
    // Every key may write the field: only ids of our own form count, so that nobody takes those of others.
    if (id === undefined || id === of.playbackId || !ownForm.test(id)) return [];
    const body = JSON.stringify({ ...rest, policy } satisfies PlaybackIdRow);
    return [
      {
        kind: playbackIdKind,
        id,
        account,
        createdAt: clock.now(),
        name: '',
        revision: 0,
        body,
        indexes: { object: of.object },
      },
    ];
  });
  if (rows.length > 0) await resources.write({ rows, events: [] });
}

/** Removes the rows of playback ids of something. May be repeated. */
export async function dropPlaybackIds(
  ids: readonly string[],
  { account, resources }: { account: string; resources: Kit['resources'] },
): Promise<void> {
  for (const id of ids) {
    const row = await resources.get(playbackIdKind, id);
    if (row?.account === account)
      await resources.write({
        rows: [{ ...row, kind: playbackIdKind, body: null, indexes: {} }],
        events: [],
      });
  }
}
