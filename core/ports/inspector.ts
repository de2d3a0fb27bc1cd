import type { VideoSpec } from './recorder.ts';

/**
 * Looks into uploaded files: is it an mp4 with H.264 video and AAC audio, and what is in it? Never on the thread that reads
 * sockets. The file may be anything: constants bound what an inspection costs, not what the file claims. A plain mp4 of any size
 * takes a few reads, a fragmented one a read for each fragment.
 *
 * Faults: `inspection.unavailable` (503: it was ended before it came to an answer, or there are too many at once; try again,
 * it says nothing of the file). What `read` throws, and the reason of an aborted signal, are thrown as they are.
 */
export interface Inspector {
  /**
   * @param options.keep given, what playback of an accepted file needs is made too, and stored by this, once at most. Until that is
   *   done the inspection counts as running, so that only a few films are in memory. What it
   *   throws is thrown; `signal` does not end it.
   * @param options.isConverted a film of another kind is converted: what that needs is made too (`ForeignFilm.front`)
   */
  inspect(
    file: InspectedFile,
    options: {
      readonly signal: AbortSignal;
      readonly isConverted?: boolean;
      keep?(playback: FilmPlayback): Promise<void>;
    },
  ): Promise<Inspection>;
  /** What runs is ended; later calls are Fault `inspection.unavailable`. */
  close(): Promise<void>;
}

/** A file of this machine, or one that is read piece by piece. It must not change meanwhile. */
export type InspectedFile =
  | { readonly path: string }
  | {
      /** Bytes. */
      readonly size: number;
      /** The bytes `from` up to `to`, which is not part of it and at most `size`: exactly so many, at most 64 MiB. */
      read(from: number, to: number): Promise<Uint8Array>;
    };

export type Inspection =
  | {
      readonly ok: true;
      /** As ffprobe would say it of the tracks that count. */
      readonly spec: VideoSpec;
      /** Tracks that are no part of the film, in plain words; empty mostly. */
      readonly passedOver: readonly string[];
      /** When playback was asked for and the file cannot be cut into segments: plain words that follow "there is no HLS of it: ". */
      readonly uncut?: string;
    }
  /** Plain words that follow "the file was refused: ". `foreign`: only because it is a film of another kind, which a converter may read. */
  | { readonly ok: false; readonly reason: string; readonly foreign?: ForeignFilm };

/** A film in another container, or with other codecs, than are stored. */
export interface ForeignFilm {
  /** By its first bytes, and nothing else: the one that ffmpeg reads it as. */
  readonly container: Container;
  /** Of an mp4: it says that it is a QuickTime film. */
  readonly isQuickTime?: true;
  /** Seconds, as it says itself; absent where it does not say so at its beginning. */
  readonly duration?: number;
  /** When it was asked for, of an mp4 whose index lies behind its samples: what makes it one that can be read from its beginning to its end. */
  readonly front?: FilmHead;
}

/** Containers that are read. `mp4`: QuickTime films too. */
export const containers = ['mp4', 'matroska', 'mpegts', 'flv', 'avi', 'mpeg'] as const;
export type Container = (typeof containers)[number];

/** What playback needs beside the file. */
export interface FilmPlayback {
  /** Absent: `uncut` says why. */
  readonly hls?: FilmSegments;
  /** Absent: its index is in front as it is, or it is read from the beginning to the end anyway (fragments). */
  readonly head?: FilmHead;
}

/** What HLS on demand needs: two blobs, some hundredths of the file's size at most. */
export interface FilmSegments {
  /** `core/vod/segment-index.ts`; its places are those in `heads`. */
  readonly index: Uint8Array<ArrayBuffer>;
  /** Init segments, and a block for each segment (`core/vod/segment-index.ts`): pieces of one blob. */
  readonly heads: readonly Uint8Array<ArrayBuffer>[];
}

/** `ftyp` and `moov`: followed by the bytes `from` up to `to` of the file it is the same film with its index in front. */
export interface FilmHead {
  /** Pieces of one blob. */
  readonly parts: readonly Uint8Array<ArrayBuffer>[];
  readonly from: number;
  readonly to: number;
}
