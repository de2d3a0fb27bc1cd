import { collection } from '../../core/token.ts';

/** How something is watched, as players understand it. */
export interface PlaybackInfo {
  readonly type: 'live' | 'vod' | 'recording';
  readonly meta: {
    /** 1 while it is on the air. */
    readonly live: 0 | 1;
    /** Best first. */
    readonly source: readonly PlaybackSource[];
  };
}

interface PlaybackSource {
  /** What it is, for people; players compare it too. */
  readonly hrn: string;
  /** Media type, with the `html5/` before it that players expect. */
  readonly type: string;
  readonly url: string;
}

/**
 * Something that can be watched, found by the id that viewers know it by: a playback id, or the id of a session or
 * asset. Undefined for an id that is not its own, and for what nobody can watch. Whoever asks has no key.
 */
export interface Playable {
  find(id: string): Promise<PlaybackInfo | undefined>;
}

/** Whatever can be watched; the first that knows an id answers. Plugins offer theirs whether playback is on or not. */
export const playables = collection<Playable>('playables');
