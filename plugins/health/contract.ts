import { collection, token } from '../../core/plugin/token.ts';
import type { LiveReading } from '../../core/ports/media.ts';

/** How the broadcasts of this node do. */
export interface Health {
  /** The last hour, oldest first; of the newest session unless one is named. Empty when nothing is known. */
  points(of: { readonly streamId: string; readonly sessionId?: string }): readonly Point[];
  /** Broadcasts that are on the air and not healthy. */
  readonly unhealthy: number;
}

/** How a broadcast did for 5 seconds, as the API shows it. */
export interface Point {
  /** Start, epoch ms. */
  readonly time: number;
  /** bit/s */
  readonly ingestRate: number;
  readonly fps: number;
  /** The longest, seconds. */
  readonly keyFrameInterval: number;
  /** The greatest, ms. */
  readonly jitter: number;
  /** Media missing, ms. */
  readonly dropped: number;
  /** Messages that came 2 s late or more. */
  readonly late: number;
  readonly viewerCount: number;
  readonly isHealthy: boolean;
  readonly issues: readonly string[];
}

export const health = token<Health>('health');

/**
 * What another plugin knows to be wrong with a broadcast, in plain words that stay the same as long as it does: with any the broadcast
 * is not healthy, which events and the history tell. Showing it in the `issues` of the stream is its own affair.
 */
export type Concern = (reading: LiveReading, now: number) => readonly string[];

export const concerns = collection<Concern>('health.concerns');
