import type { FilmPlayback, Inspection } from '../../../../core/ports/inspector.ts';

/** What the thread that inspects is told. */
export type ToWorker =
  | { readonly id: number; readonly begin: Begin }
  /** What it asked to be read. */
  | { readonly id: number; readonly bytes: Uint8Array }
  /** Nobody waits for the answer any more. */
  | { readonly id: number; readonly stop: true };

/** What it says. */
export type FromWorker =
  | { readonly id: number; readonly read: { readonly from: number; readonly to: number } }
  | { readonly id: number; readonly inspection: Inspection; readonly playback?: FilmPlayback }
  /** The file cannot be read, or there is a bug: in words. */
  | { readonly id: number; readonly failed: string }
  /** It is at work. */
  | { readonly alive: true };

export type Begin = { readonly isPlayed: boolean; readonly isConverted: boolean } & (
  | { readonly path: string }
  | { readonly size: number }
);
