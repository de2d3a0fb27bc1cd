import type { RenditionProfile } from '../../../core/ports/transcoder.ts';

/**
 * The renditions of one playlist, as their maker sees them (`transcoding.ts`): media to read at its own pace, and pictures to give back.
 * It outlives every process: what one has not made, the next one makes from the live window, which is in memory anyway. So nothing
 * is buffered for a process, and one that dies loses nothing that the window still holds.
 */
export interface Ladder {
  readonly playbackId: string;
  readonly streamId: string;
  readonly profiles: readonly RenditionProfile[];
  /** ms of media by which the listed renditions end before the listed source; 0 before any. */
  readonly lag: number;
  /** Whether new viewers are offered the rendition of profile `index`: there is enough of it, and it is in time. */
  isListed(index: number): boolean;
  /**
   * The next run of a process: from behind the last part that all renditions have, or, if that left the window, from its newest
   * segment; the renditions then leave the playlists and come back. Waits for pictures, also while there is only sound.
   * Undefined: the signal was aborted, or the playlist is over. A run before that has not ended is ignored from now on.
   */
  next(signal: AbortSignal): Promise<LadderRun | undefined>;
  /** They cannot be made for now: new viewers are not offered them. What is listed stays for those who play it. */
  suspend(): void;
}

/** What one process decodes and encodes: media of one init segment, until the source begins anew or is over. */
export interface LadderRun {
  /** `width`, `height`, `frameRate`: as the source says. */
  readonly video: {
    /** RFC 6381. */
    readonly codec: string;
    readonly width: number;
    readonly height: number;
    readonly frameRate: number | undefined;
  };
  /**
   * Seconds on the timeline of the media. Earlier pictures are fed only to decode the others and must not be encoded (filter
   * `trim`), so that the first encoded picture is a key frame. Undefined: all are encoded.
   */
  readonly from: number | undefined;
  /**
   * Fragmented mp4: init segment, then parts as they are made. Waits for more; ends when the run is over, or aborted. The bytes
   * are the reader's own. To be read once. Throws `LadderLost` when the window does not hold what comes next, or what was made
   * of it comes too late: the process was too slow. Throws `LadderFull`.
   */
  media(signal: AbortSignal): AsyncIterable<LadderMedia>;
  /**
   * What the process wrote to its standard output: fragmented mp4, track k + 1 is the rendition of profile k, times are those of
   * the source, in ticks of 1/90000 s. Where pictures are left out for a lower rate, the others keep their times; key frames
   * and the first picture from `from` on are never left out. Throws `LadderBroken` when it cannot be read, and `LadderFull`. What comes
   * when the run is over is ignored.
   *
   * Fragments may hold any number of pictures and tracks. They are best made with `-frag_duration 1`: with `frag_every_frame` ffmpeg
   * 5.1 moves pictures to the time of the next one, as soon as a track has fewer than another ("Packet duration … is out of
   * range"). Encoders must put the same parameter sets in front each time, or what is listed cannot be gone on with.
   */
  take(bytes: Uint8Array): void;
  /** Pictures taken so far, all renditions together. */
  readonly pictures: number;
  /** The process is gone, and nothing more comes of it. `isWhole`: it ended by itself after all was fed: what is there is cut. */
  end(options: { readonly isWhole: boolean }): void;
}

/** A piece of what is fed: whole boxes. */
export interface LadderMedia {
  readonly bytes: Uint8Array;
  /** Those of the source in it; undefined: there are none. */
  readonly pictures: FedPictures | undefined;
}

/** Seconds on the timeline of the media: when the first is decoded, and the first one behind them. */
export interface FedPictures {
  readonly count: number;
  readonly start: number;
  readonly end: number;
}

/** The process was slower than the window is long. */
export class LadderLost extends Error {}

/** What a process wrote cannot be read; the message says why, for the log. */
export class LadderBroken extends Error {}

/** There is no memory left for more playlists; the source has priority. */
export class LadderFull extends Error {}

/** Makes the renditions of this node. */
export interface RenditionMaker {
  /** Starts the renditions of a playlist. Returns the function that ends them; the ladder is not used after that. */
  begin(ladder: Ladder): () => void;
}
