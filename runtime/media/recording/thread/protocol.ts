import type { IndexedInit } from '../../../../core/vod/segment-index.ts';
import type { PublishedInit, PublishedPart } from '../../publish/subscriber.ts';
import type { RecordingMeta, SealedFile } from '../meta.ts';
import type { RecorderSettings } from '../settings.ts';
import type { GapReason } from '../trouble.ts';

/** What the main thread sends to the recording thread, in order. `file` is a number that the main thread gave. */
export type Op =
  /** `meta` is that of a new file; what lies on disk counts more. */
  | { readonly op: 'file'; readonly file: number; readonly meta: RecordingMeta }
  | { readonly op: 'begin'; readonly file: number; readonly init: PublishedInit }
  | {
      readonly op: 'part';
      readonly file: number;
      /** Transferred. */
      readonly bytes: Uint8Array<ArrayBuffer>;
      readonly part: PublishedPart;
    }
  /** Parts are missing here. */
  | { readonly op: 'gap'; readonly file: number; readonly reason: GapReason }
  | { readonly op: 'end'; readonly file: number }
  | ({ readonly op: 'call'; readonly id: number } & Call);

export type Call = {
  [Name in keyof Calls]: { readonly name: Name; readonly argument: Parameters<Calls[Name]>[0] };
}[keyof Calls];

export interface Calls {
  /** Completes the file. Undefined: it holds no media. */
  seal(file: number): SealedFile | undefined;
  /** Changes `take.json`; null removes a field. On disk when answered. */
  save(change: {
    file: number;
    fields: { [Name in 'upload' | 'finished' | 'made']?: RecordingMeta[Name] | null };
  }): void;
  /** Closes the file. Later ops for it are ignored. */
  forget(file: number): void;
  /** Segments are made whole, all is synced, files are closed. The last call. */
  close(none: null): void;
}

export interface Start {
  /** Holds the folders of all recording files. */
  readonly folder: string;
  readonly settings: RecorderSettings;
}

export type ToThread = { readonly start: Start } | readonly Op[];

export type FromThread =
  | { readonly notes: readonly FileNote[] }
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly problem: Problem }
  | { readonly log: string; readonly fields: Readonly<Record<string, unknown>> };

/** An error without its class, which does not survive the way between threads. */
export interface Problem {
  readonly message: string;
  /** `ENOSPC` */
  readonly code?: string;
}

/** How a recording file stands, and what is new since the last note. */
export interface FileNote {
  readonly file: number;
  readonly bytes: number;
  /** Epoch ms. */
  readonly writtenAt: number;
  /** Below it the file never changes again, and all is on disk. */
  readonly durable: number;
  readonly gaps: number;
  /** Why nothing can be written now, for people. */
  readonly trouble?: string;
  /** New: bytes of parts that no longer wait. */
  readonly taken: number;
  /** New: one for each gap. */
  readonly reasons: readonly GapReason[];
  /** New: inits from number `firstInit` on. */
  readonly inits: readonly IndexedInit[];
  readonly firstInit: number;
  /** New: segments from number `firstRow` on, as `SegmentRows` has them. */
  readonly rows: Float64Array<ArrayBuffer>;
  readonly firstRow: number;
}
