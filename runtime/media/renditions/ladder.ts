import type { RenditionProfile } from '../../../core/ports/transcoder.ts';

/**
 * The renditions of one playlist as seen by who makes them (`transcoding.ts`): media to read, at a pace of one's own, and pictures
 * to give back. It outlives every process: what one has not made, the next one makes, from the live window that is in memory
 * anyway. So nothing is buffered for a process, and one that dies loses nothing that the window still holds.
 */
export interface Ladder {
  readonly playbackId: string;
  readonly streamId: string;
  readonly profiles: readonly RenditionProfile[];
  /** By how much what is listed of the renditions ends before what is listed of the source, ms of media; 0 before any. */
  readonly lag: number;
  /** Whether viewers who come now are offered the rendition of profile `index`: there is enough of it, and it comes in time. */
  isListed(index: number): boolean;
  /**
   * The next run of a process: from behind the last part that all renditions have, or, where the window has that no more, from its
   * newest segment on; the renditions then leave the playlists and come back. Waits until there are pictures, also while there is
   * sound alone; undefined: the signal was aborted, or the playlist is over. Where the run before has not ended, it counts no more.
   */
  next(signal: AbortSignal): Promise<LadderRun | undefined>;
  /** They cannot be made for now: viewers are not offered them. What is listed stays for who plays it. */
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
   * Seconds on the timeline of the media. Pictures that are shown before are fed to decode the others, and must not be encoded
   * (filter `trim`), so that the first that is encoded is a key frame. Undefined: all are encoded.
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

/** There is no memory left for more playlists; the source goes before. */
export class LadderFull extends Error {}

/** Who makes renditions on this node. */
export interface RenditionMaker {
  /** A playlist that is to have renditions. Returns its end: after that call nothing is asked of the ladder any more. */
  begin(ladder: Ladder): () => void;
}
