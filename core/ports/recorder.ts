import type { Variant } from '../hls/playlist.ts';

/**
 * Records live broadcasts on this node while they are packaged. The media feeds it (`runtime/media/recording`); plugins finish,
 * list and remove recordings.
 *
 * A **recording file** is what this node has of one session, across all its publishes here and across restarts of the process:
 * one file that only grows. A part that was handed over is in the file within a second, or it is missing as a whole, up to the
 * next key frame: a gap, which is reported and counted. Beside it lies a file for each rendition of the session. These belong to
 * the recording, but it never suffers from them: where disk or memory are short they are no longer written, and one that cannot
 * be stored is left out.
 *
 * Faults: `recording.unavailable` (503: disk or blob store do not answer; try again, nothing is lost), `recording.full` (507: no
 * room for it), those of the Blobs port.
 */
export interface Recorder {
  /** Repairs what a former process left: a torn end is cut off. Called once, before the first publish. */
  open(): Promise<void>;

  /** The recording files on this node: growing, waiting or finished. */
  files(): Promise<readonly RecordingFileState[]>;

  /** Of all of them, for metrics. */
  totals(): RecorderTotals;

  /**
   * Ends a recording file and makes blobs of it, with everything that was handed over before, in the folder that its grant
   * named. A repeat, also after a restart, gives the same answer until `drop`. Undefined: there is no file of that session here,
   * or it holds no media. Later publishes of the session are not recorded.
   */
  finish(
    sessionId: string,
    options: { readonly signal: AbortSignal },
  ): Promise<FinishedRecording | undefined>;

  /**
   * Joins the recordings of several nodes, ascending by time, as new blobs in `folder`. The blobs it was made of stay.
   */
  join(
    parts: readonly FinishedRecording[],
    options: { readonly folder: string; readonly signal: AbortSignal },
  ): Promise<FinishedRecording>;

  /** Removes the file and its unfinished upload from this node. Blobs stay. Does nothing where there is none. */
  drop(sessionId: string): Promise<void>;

  /** Syncs and closes the files; they stay. */
  close(): Promise<void>;
}

export interface RecordingFileState {
  readonly sessionId: string;
  readonly streamId: string;
  /** A publish feeds it now. */
  readonly isFed: boolean;
  readonly isFinished: boolean;
  /** Last write, epoch ms. */
  readonly writtenAt: number;
  /** Bytes on this node's disk, with its renditions. */
  readonly bytes: number;
}

export interface RecorderTotals {
  /** Recording files on this node. */
  readonly files: number;
  /** Those that a publish feeds now. */
  readonly growing: number;
  /** Bytes on this node's disk, with renditions. */
  readonly bytes: number;
  /** Bytes written since the start, with renditions. */
  readonly written: number;
  /** Gaps since the start, by reason: a word of the program. */
  readonly gaps: Readonly<Record<string, number>>;
  /** The same of renditions. */
  readonly renditionGaps: Readonly<Record<string, number>>;
}

/** A recording file as blobs. Plain JSON: it is kept in an actor. */
export interface FinishedRecording {
  /** `ftyp`, `mdat` boxes with fragments inside, and at the end a `moov` with every sample. */
  readonly video: {
    readonly key: string;
    readonly size: number;
    readonly md5: string;
    readonly sha256: string;
  };
  /**
   * `ftyp` and `moov`: followed by the bytes `from` up to `to` of `video` it is the same film, for players that want the index
   * first.
   */
  readonly head: { readonly key: string; readonly size: number; readonly from: number; readonly to: number };
  /** Where each HLS segment lies in `video` (`core/vod/segment-index.ts`). */
  readonly index: { readonly key: string; readonly size: number };
  readonly spec: VideoSpec;
  /** Epoch ms of its first sample. */
  readonly startedAt: number;
  /** Number of places where something is missing because this node could not write it. */
  readonly gaps: number;
  /** In the order of the stream's profiles. Absent: there are none. */
  readonly renditions?: readonly FinishedRendition[];
}

/** A rendition as blobs, played beside those of its source. */
export interface FinishedRendition {
  /** Of its profile. */
  readonly name: string;
  /** Its segments; no film by itself. */
  readonly video: FinishedRecording['video'];
  /** As long as that of its source. */
  readonly index: FinishedRecording['index'];
  readonly variant: Variant;
  /** Share of the film that it has, by time: 0 to 1. Elsewhere the index shows the source. */
  readonly share: number;
}

/** `videoSpec` of an asset. Unknown fields are left out. */
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
