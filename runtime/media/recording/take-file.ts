import type { VideoSpec } from '../../../core/ports/recorder.ts';
import type { IndexedInit, IndexedSegment } from '../../../core/vod/segment-index.ts';
import type { FedInit, FedPart } from './feed.ts';
import type { Steps } from './steps.ts';

/** One file at any place. Calls block: they run in the recorder's worker. They throw what the disk says. */
export interface TakeIo {
  readonly size: number;
  /** Fills `into` from `at` on, as far as the file goes; bytes read. */
  read(at: number, into: Uint8Array): number;
  write(at: number, bytes: Uint8Array): void;
  truncate(size: number): void;
  /** Lets the file go; the next call opens it again. */
  close(): void;
}

/**
 * The growing file of a take. A write that throws leaves it as it was before the call, or so that the next call mends it:
 * what is torn is cut off.
 */
export interface TakeFile {
  /** Below it nothing is ever changed again: closed extents. It only grows. */
  readonly sealed: number;
  readonly size: number;
  /** What was cut off when it was opened, and why in plain words; undefined: nothing. */
  readonly cut: { readonly at: number; readonly bytes: number; readonly reason: string } | undefined;
  readonly inits: readonly IndexedInit[];
  /** Whole segments. */
  readonly count: number;
  segment(number: number): IndexedSegment;
  /** It has this init: beginning with it adds none. */
  has(init: FedInit): boolean;
  begin(init: FedInit): void;
  part(bytes: Uint8Array, part: FedPart): void;
  /** The open segment is whole: the publish is over, or something is missing behind it. What follows begins with a `begin`. */
  pause(): void;
  /** Writes the `moov` and closes the file; nothing else is done to it meanwhile. Undefined: there are no samples. A repeat is answered the same. */
  finish(): Steps<FinishedFile | undefined>;
  /** Closes the file without a `moov`: its segments can be played, itself it is no film. A repeat is answered the same. */
  close(): ClosedFile;
}

/** Segments by their number, from 0. */
export interface Segments {
  readonly count: number;
  get(number: number): IndexedSegment;
}

export interface ClosedFile {
  readonly size: number;
  readonly inits: readonly IndexedInit[];
  readonly segments: Segments;
}

export interface FinishedFile {
  readonly size: number;
  /** ftyp and the moov in front: followed by the bytes `from` up to `to` of the file it is the same film. */
  readonly head: { readonly bytes: Uint8Array<ArrayBuffer>; readonly from: number; readonly to: number };
  /** `writeSegmentIndex` */
  readonly index: Uint8Array<ArrayBuffer>;
  readonly spec: VideoSpec;
  /** Epoch ms of its first sample. */
  readonly startedAt: number;
}
