/**
 * Pictures of fragmented mp4: one, many on one sheet, or an animation. Decoded in other processes, made once for all who ask at the same time,
 * and kept in memory for a while. Number, time and size are bounded. Pictures of broadcasts come first, then those of who has had
 * the fewest.
 *
 * Faults: `still.none` (404: there is no picture in it, it cannot be decoded, or is too large to be), `still.unavailable` (503:
 * there is no ffmpeg, or it does not write the format), `still.busy` (503: too much is being made, or waits), `still.failed` (503: it took too long, or broke). What
 * `open` and `read` throw is thrown as it is.
 */
export interface Stills {
  make(order: StillOrder): Promise<Still>;
  totals(): StillTotals;
  /** What is being made ends; what is asked for later is `still.unavailable`. */
  close(): void;
}

/** What a picture is of; for the counts. */
export const stillKinds = ['live', 'asset', 'storyboard'] as const;
export type StillKind = (typeof stillKinds)[number];

export interface StillOrder {
  readonly kind: StillKind;
  /** Equal keys are equal pictures. */
  readonly key: string;
  /** What it is of: of one such thing few are made at a time for one client, so that it takes no other's place. */
  readonly of: string;
  /** Who asks, such as a network address. Each has a share of the turns. Default: all that name none are one client. */
  readonly client?: string;
  /** Whose video it is. Each account has a share, too. */
  readonly account?: string;
  /** One of so many pictures of the same thing that others go before it. */
  readonly isOneOfMany?: boolean;
  /** Equal for single pictures of the same segment: those that wait at the same time are made together. */
  readonly segment?: string;
  /** How long what was made may be answered again, ms. Default: for ever. */
  readonly freshFor?: number;
  readonly signal: AbortSignal;
  /** Where it lies when it was made before, by whatever process. */
  readonly store?: StillStore;
  /** Called when its turn has come. Undefined: there is nothing to make it of (`still.none`). */
  open(signal: AbortSignal): Promise<StillMedia | undefined> | StillMedia | undefined;
}

export interface StillStore {
  /** The picture; undefined, or what is none: it is made. */
  load(signal: AbortSignal): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** The picture is answered whether this succeeds or not. */
  save(bytes: Uint8Array): Promise<void>;
}

/** Media types are those of `image/`. */
export const stillFormats = ['jpeg', 'png', 'webp', 'gif'] as const;
export type StillFormat = (typeof stillFormats)[number];

export interface StillMedia {
  /** Default: `jpeg`. A sheet is always one. */
  readonly format?: StillFormat;
  /** It is an animation (`webp` or `gif`), and the pictures are segments that follow each other. */
  readonly motion?: StillMotion;
  /** What was made of an equal version is still right. */
  readonly version?: string;
  /** In the order of the sheet, by rows; one alone is the whole picture. */
  readonly pictures: readonly StillPicture[];
  readonly columns: number;
  /** Pixels that each picture must fit into, at least 2. Its shape is kept, and it is never made larger. */
  readonly width: number;
  readonly height: number;
}

/** Seconds from the first picture of the first segment. */
export interface StillMotion {
  readonly from: number;
  readonly to: number;
  /** Pictures a second. */
  readonly fps: number;
}

export interface StillPicture {
  /** Of an animation: when its segment begins, in seconds as in `StillMotion`. Default: 0. */
  readonly begins?: number;
  /** Where it may be, the best first: the first of them that has any picture counts. */
  readonly sources: readonly StillSource[];
}

/** A segment or part of HLS: fragmented mp4 (ISO/IEC 14496-12 8.8) behind an init segment. */
export interface StillSource {
  readonly init: StillInit;
  open(signal: AbortSignal): Promise<StillBytes> | StillBytes;
  /**
   * Which picture: the one that is shown so many seconds behind the first one of the segment; before that the first, beyond the
   * end the last. Undefined: its first key frame, and no more is read than that.
   */
  readonly at?: number;
  /**
   * Of the first segment of a film: seconds are counted from the beginning of its sound, where that comes before the first picture is
   * `shown`; of what this program packaged, whose segments last from decode time to decode time, before it is `decoded`.
   */
  readonly lead?: 'shown' | 'decoded';
}

export interface StillBytes {
  /** Bytes. */
  readonly size: number;
  /** Bytes `from` up to `to`, within `size`. Bounded by who asks. */
  read(range: { readonly from: number; readonly to: number }, signal: AbortSignal): Promise<Uint8Array>;
}

export interface StillInit {
  /** Equal for equal inits. */
  readonly id: string;
  read(signal: AbortSignal): Promise<Uint8Array>;
}

export interface Still {
  /** In the format that was asked for. Shared by all who get it: nobody changes it. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Of the whole picture, pixels. */
  readonly width: number;
  readonly height: number;
  /** Strong, without its quotes. */
  readonly etag: string;
  /** Epoch ms at which it was made, or was last seen to be what would be made. */
  readonly at: number;
}

/** By kind. Counts only grow. */
export interface StillTotals {
  readonly kinds: Readonly<Record<StillKind, StillCounts>>;
  /** Being made, and waiting for that. */
  readonly running: number;
  readonly waiting: number;
  /** Kept now. */
  readonly bytes: number;
}

export interface StillCounts {
  readonly made: number;
  /** Answered from memory, or with what was being made for somebody else. */
  readonly shared: number;
  /** `still.busy` and `still.unavailable`. */
  readonly refused: number;
  /** `still.none` and `still.failed`. */
  readonly failed: number;
}
