import type { IndexedInit } from '../../../core/vod/segment-index.ts';
import type { FedInit, FedPart } from './feed.ts';
import type { RecorderLimits } from './limits.ts';
import type { RingMemory } from './part-ring.ts';
import type { SealedTake, TakeMeta } from './take-meta.ts';
import type { GapReason } from './trouble.ts';

/** What the main thread tells the writing one, in order. `take` is a number that the main thread gave. */
export type Op =
  /** `meta` is that of a new one; what lies on disk counts more. */
  | { readonly op: 'take'; readonly take: number; readonly meta: TakeMeta }
  | { readonly op: 'begin'; readonly take: number; readonly init: FedInit }
  | {
      readonly op: 'part';
      readonly take: number;
      /** Where it is in the ring. */
      readonly at: number;
      readonly size: number;
      readonly part: FedPart;
    }
  /** Parts are missing here. */
  | { readonly op: 'gap'; readonly take: number; readonly reason: GapReason }
  | { readonly op: 'end'; readonly take: number }
  | ({ readonly op: 'call'; readonly id: number } & Call);

export type Call = {
  [Name in keyof Calls]: { readonly name: Name; readonly argument: Parameters<Calls[Name]>[0] };
}[keyof Calls];

export interface Calls {
  /** Completes the file. Undefined: it holds no media. */
  seal(take: number): SealedTake | undefined;
  /** Changes `take.json`; null takes a field away. On disk when answered. */
  save(change: {
    take: number;
    fields: { [Name in 'upload' | 'finished' | 'made']?: TakeMeta[Name] | null };
  }): void;
  /** Closes its file. Whatever else comes for it is passed over. */
  forget(take: number): void;
  /** Segments are made whole, all is synced, files are closed. The last call. */
  close(none: null): void;
}

/** The first message. */
export interface Start {
  /** Of the spools. */
  readonly folder: string;
  readonly ring: RingMemory;
  readonly limits: RecorderLimits;
}

export type ToThread = { readonly start: Start } | readonly Op[];

export type FromThread =
  | { readonly notes: readonly TakeNote[] }
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly problem: Problem }
  | {
      readonly log: string;
      readonly fields: Readonly<Record<string, unknown>>;
      /** Default: warn. */
      readonly level?: 'info';
    };

/** An error without its class, which does not survive the way between threads. */
export interface Problem {
  readonly message: string;
  /** `ENOSPC` */
  readonly code?: string;
}

/** How a take stands. */
export interface TakeNote {
  readonly take: number;
  readonly bytes: number;
  /** Epoch ms. */
  readonly writtenAt: number;
  /** Below it the file never changes again, and all is on disk. */
  readonly durable: number;
  readonly gaps: number;
  /** Of those since the last note. */
  readonly reasons: readonly GapReason[];
  /** Why nothing can be written now, in plain words. */
  readonly trouble?: string;
  /** What is new since the last note. */
  readonly inits: readonly IndexedInit[];
  readonly firstInit: number;
  readonly rows: Float64Array<ArrayBuffer>;
  readonly first: number;
}
