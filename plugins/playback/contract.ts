import { type Static, Type } from '@sinclair/typebox';
import { collection } from '../../core/token.ts';

const sourceSchema = Type.Object(
  {
    hrn: Type.String({
      description: 'What it is, for people; players compare it too.',
      examples: ['HLS (TS)'],
    }),
    type: Type.String({
      description: 'Media type, with the `html5/` before it that players expect.',
      examples: ['html5/application/vnd.apple.mpegurl'],
    }),
    url: Type.String({ examples: ['https://video.example.com/hls/6pukxh2m0ydr9h3q/index.m3u8'] }),
  },
  { additionalProperties: false },
);

/** How something is watched, as players understand it. */
export const playbackSchema = Type.Object(
  {
    type: Type.Union([Type.Literal('live'), Type.Literal('vod'), Type.Literal('recording')]),
    meta: Type.Object(
      {
        live: Type.Union([Type.Literal(1), Type.Literal(0)], { description: '1 while it is on the air.' }),
        source: Type.Array(sourceSchema, { description: 'Best first.' }),
      },
      { additionalProperties: false },
    ),
  },
  { $id: 'Playback', additionalProperties: false },
);

export type PlaybackInfo = Static<typeof playbackSchema>;

/**
 * Something that can be watched, found by the id that viewers know it by: a playback id, or the id of a session or
 * asset. Undefined for an id that is not its own, and for what nobody can watch. Whoever asks has no key.
 */
export interface Playable {
  find(id: string): Promise<PlaybackInfo | undefined>;
}

/** Whatever can be watched; the first that knows an id answers. Plugins offer theirs whether playback is on or not. */
export const playables = collection<Playable>('playables');
