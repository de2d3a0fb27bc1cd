import { type Static, Type } from '@sinclair/typebox';
import { Fault, hasCode } from '../../core/base/fault.ts';
import { object, oneOf } from '../../core/base/schema.ts';
import type { Caller } from '../../core/http/caller.ts';
import { idSchema } from '../../core/http/operation.ts';
import type { PlaySubject } from '../../core/plugin/decide.ts';
import { collection } from '../../core/plugin/token.ts';
import type { PlaybackAliases } from '../../core/vod/aliases.ts';

const sourceSchema = object({
  hrn: Type.String({
    description: 'What it is, for people; players compare it too.',
    examples: ['HLS (TS)'],
  }),
  type: Type.String({
    description: 'Media type, with the `html5/` before it that players expect.',
    examples: ['html5/application/vnd.apple.mpegurl'],
  }),
  url: Type.String({ examples: ['https://video.example.com/hls/6pukxh2m0ydr9h3q/index.m3u8'] }),
});

const phases = ['upcoming', 'live', 'interrupted', 'over'] as const;

const recordingSchema = object({
  id: Type.String({
    description: 'Id of the session: `GET /api/playback/{id}` says where its recording is watched.',
    examples: idSchema.examples,
  }),
  status: oneOf(['waiting', 'ready']),
});

/** How something is watched, as players understand it. */
export const playbackSchema = object(
  {
    type: oneOf(['live', 'vod', 'recording']),
    meta: object({
      live: oneOf([1, 0], { description: '1 while it is on the air.' }),
      phase: Type.Optional(
        oneOf(phases, {
          description:
            'Of a live stream: `upcoming` before its first broadcast, `live`, `interrupted` while the connection of its encoder is lost and may come back, `over`.',
          examples: ['live'],
        }),
      ),
      recording: Type.Optional(recordingSchema),
      source: Type.Array(sourceSchema, { description: 'Best first.' }),
    }),
  },
  { $id: 'Playback' },
);

export type PlaybackInfo = Static<typeof playbackSchema>;

/**
 * Something that can be watched, found by the id that viewers know it by: a playback id, or the id of a session or
 * asset. Undefined for an id that is not its own, and for what nobody can watch; Fault `notReady` or `neverReady` for
 * what has no file. Viewers have no key: the answer holds nothing that only the owner may know. Its
 * URLs begin with `caller.baseUrl`.
 */
export interface Playable {
  find(id: string, caller: Caller): Promise<Found | undefined>;
}

/**
 * `subject`: what plugins that decide are told of it; without it they are not asked. `session`: id of the session that is over;
 * another playable may have its recording.
 */
export type Found = PlaybackInfo & { readonly subject?: PlaySubject; readonly session?: string };

/** What a plugin that decides may know of something that is played. */
export interface PlayedFacts {
  /** Ids that its owner knows it by. */
  readonly names: readonly string[];
  /** Values of the fields that plugins add to it, by name. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/**
 * What is stored of a thing that is played; undefined for one of another plugin, and for one that is gone. A recording has that of its
 * stream first, then that of its asset. Faults `store.*`.
 */
export const playedFacts =
  collection<(subject: PlaySubject) => Promise<PlayedFacts | undefined>>('playback.facts');

export const notReady = new Fault('playback.not_ready', {
  status: 404,
  message: 'This video is not ready yet. Ask again in some seconds.',
  retryAfter: 5,
});
/** Why it failed is for the owner. */
export const neverReady = new Fault('playback.failed', {
  status: 404,
  message: 'This video could not be prepared.',
});

/** Other names of what can be watched: in URLs of live streams, recordings and assets, and in `/api/playback/{id}`. */
export const playbackAliases = collection<PlaybackAliases>('playback.aliases');

/** Whatever can be watched; the first that knows an id answers. Plugins offer theirs whether playback is on or not. */
export const playables = collection<Playable>('playables');

/**
 * Finds what is watched under an id, among these. Undefined for what nobody knows. Throws `notReady`, `neverReady`, and other Faults
 * of the playables.
 */
export function playableFinder(known: readonly Playable[]): Playable['find'] {
  return async (id, caller) => {
    let unready: unknown;
    let behind: unknown;
    let failure: unknown;
    for (const playable of known) {
      try {
        const found = await playable.find(id, caller);
        if (found) return found;
      } catch (error) {
        if (error === notReady || error === neverReady) unready = error;
        else if (hasCode(error, 'store.behind')) behind = error;
        else if (error instanceof Fault) throw error;
        // One plugin that is broken must not hide what the others have.
        else failure = error;
      }
    }
    // A session that is recorded is live to one of them and not ready to another. What one of them does not know yet, another may have.
    const why = unready ?? behind ?? failure;
    if (why !== undefined) throw why;
    return undefined;
  };
}
