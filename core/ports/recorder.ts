import type { Variant } from '../vod/variant.ts';

/**
 * Recordings that grow on this node: what is packaged live, written down as it is packaged. The media feeds it
 * (`runtime/media/recording`); plugins finish what is over, read what there is, and remove it.
 *
 * A **take** is what this node has of one session, across all its publishes here and across restarts of the process: one
 * file that only grows, in `<dataDir>/recordings/<sessionId>`. A part that was handed over is in the file within a second, or
 * it is missing from it as a whole, up to the next key frame: a gap, which is told and counted. Beside it lies a file for each rendition
 * of the session. Those belong to the take and share its fate, but it never suffers from them: where disk or memory are short they
 * are written no more, and one that cannot be had is left out.
 *
 * Faults: `recording.unavailable` (503: disk or blob store do not answer; try again, nothing is lost), `recording.full` (507:
 * there is no room for it), those of the Blobs port.
 */
export interface Recorder {
  /** Takes up what a former process left: what is torn at an end is cut off. Called once, before the first publish. */
  open(): Promise<void>;

  /** The takes on this node, whether they grow, wait or are finished. */
  takes(): Promise<readonly TakeState[]>;

  /** Of all of them, for metrics. */
  totals(): RecorderTotals;

  /**
   * Ends a take and makes blobs of it, below the folder that its grant named. Everything that was handed over before is in
   * them. A repeat, also after a restart, is answered the same until `drop`. Undefined: there is no take of that session
   * here, or it holds no media. Nothing is added to a take that was finished: a publish that comes yet is not recorded.
   */
  finish(sessionId: string, options: { readonly signal: AbortSignal }): Promise<FinishedTake | undefined>;

  /**
   * Puts the takes of several nodes, ascending by time, together as one, below `folder`. Its blobs are new ones; those it
   * was made of stay.
   */
  join(
    takes: readonly FinishedTake[],
    options: { readonly folder: string; readonly signal: AbortSignal },
  ): Promise<FinishedTake>;

  /** Removes what lies on this node of a take: file, unfinished upload. Its blobs stay. None: nothing happens. */
  drop(sessionId: string): Promise<void>;

  /** What is written is on disk, then files are closed. Takes stay. */
  close(): Promise<void>;
}

export interface TakeState {
  readonly sessionId: string;
  readonly streamId: string;
  /** A publish feeds it now. */
  readonly isFed: boolean;
  readonly isFinished: boolean;
  /** When it was last written to, epoch ms. */
  readonly writtenAt: number;
  /** Bytes on this node's disk, with its renditions. */
  readonly bytes: number;
}

export interface RecorderTotals {
  /** Takes on this node. */
  readonly takes: number;
  /** Those that a publish feeds now. */
  readonly growing: number;
  /** What they and their renditions take on this node's disk. */
  readonly bytes: number;
  /** Bytes written to takes and their renditions since the start. */
  readonly written: number;
  /** Times since the start that something could not be written, by why: a word of the program. */
  readonly gaps: Readonly<Record<string, number>>;
  /** The same of renditions. */
  readonly renditionGaps: Readonly<Record<string, number>>;
}

/** A take as blobs. Plain JSON: it is kept in an actor. */
export interface FinishedTake {
  /** The file: `ftyp`, `mdat` boxes with fragments inside, and at the end a `moov` that knows every sample. */
  readonly video: {
    readonly key: string;
    readonly size: number;
    readonly md5: string;
    readonly sha256: string;
  };
  /**
   * `ftyp` and a `moov` in front: followed by the bytes `from` up to `to` of `video` it is the same film for players that
   * want the index first.
   */
  readonly head: { readonly key: string; readonly size: number; readonly from: number; readonly to: number };
  /** What `core/vod/segment-index.ts` reads: where each HLS segment lies in `video`. */
  readonly index: { readonly key: string; readonly size: number };
  readonly spec: VideoSpec;
  /** Epoch ms of its first sample. */
  readonly startedAt: number;
  /** What is missing because this node could not write it. */
  readonly gaps: number;
  /** In the order of the stream's profiles. Absent: there are none. */
  readonly renditions?: readonly FinishedRendition[];
}

/** A rendition of a take as blobs, to be played beside the take's own. */
export interface FinishedRendition {
  /** Of its profile. */
  readonly name: string;
  /** Its segments; no film by itself. */
  readonly video: FinishedTake['video'];
  /** As long as that of the take (`core/vod/segment-index.ts`). */
  readonly index: FinishedTake['index'];
  readonly variant: Variant;
  /** How much of the film it has, by time: 0 to 1. Where it has nothing the index shows the source. */
  readonly share: number;
}

/** `videoSpec` of an asset. What is not known of a track is left out. */
export interface VideoSpec {
  readonly format: string;
  /** Seconds. */
  readonly duration: number;
  /** bit/s, of the whole file. */
  readonly bitrate: number;
  readonly tracks: readonly TrackSpec[];
}

export type TrackSpec =
  | {
      readonly type: 'video';
      readonly codec: string;
      /** Seconds. */
      readonly duration: number;
      /** bit/s */
      readonly bitrate: number;
      /** Frames a second, on average. */
      readonly fps?: number;
      readonly width?: number;
      readonly height?: number;
      readonly pixelFormat?: string;
    }
  | {
      readonly type: 'audio';
      readonly codec: string;
      readonly duration: number;
      readonly bitrate: number;
      readonly channels?: number;
      readonly sampleRate?: number;
    };
