import { collection } from '../plugin/token.ts';

/** A stored film that can be watched over HLS. */
export interface FilmIdentity {
  readonly assetId: string;
  readonly account: string;
  readonly playbackId: string;
  /** Of a recording. */
  readonly sessionId?: string;
}

/** Subtitles of a film. */
export interface FilmTextTrack {
  /** In its URL: 1 to 32 of `a-z`, `0-9` and `-`. Unique among the tracks of the film. */
  readonly id: string;
  /** For people, 1 to 64 characters without quotes. Unique among the tracks of the film. */
  readonly name: string;
  /** BCP 47: `en`, `pt-BR`. */
  readonly language: string;
  /** Players show it unless the viewer chooses otherwise. The first such track counts. */
  readonly isDefault?: boolean;
  /** A WebVTT file of at most 2 MiB whose times begin with the film: the key of a blob, or a function that reads it. */
  readonly vtt: { readonly blob: string } | (() => Promise<string>);
}

/**
 * What text tracks a plugin has for a film; called for requests of viewers, so it costs one read of the store at most. What it
 * answers counts at once, also for films that were watched before. The film plays without them if it throws, or does not answer
 * within 2 s. At most 16 tracks of a film are offered.
 */
export type TextTracksOf = (
  film: FilmIdentity,
  options: { readonly signal: AbortSignal },
) => readonly FilmTextTrack[] | Promise<readonly FilmTextTrack[]>;

/** Text tracks in the playlists of recordings and assets. */
export const textTracks = collection<TextTracksOf>('vod.text-tracks');
