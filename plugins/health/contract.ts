import { collection, token } from '../../core/plugin/token.ts';
import type { LiveReading } from '../../core/ports/media.ts';

/** Health of the broadcasts of this node. */
export interface Health {
  /** The last hour, oldest first; of the newest session unless one is named. Empty when there is none. */
  points(of: { readonly streamId: string; readonly sessionId?: string }): readonly Point[];
  /** Broadcasts that are on the air and not healthy. */
  readonly unhealthy: number;
}

/** Health of a broadcast over 5 seconds, as the API shows it. */
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
 * Issues of a broadcast that another plugin finds, in plain words that do not change while the issue lasts. With any, events and
 * the history show the broadcast as not healthy. The plugin itself shows them in the `issues` of the stream.
 */
export type Concern = (reading: LiveReading, now: number) => readonly string[];

export const concerns = collection<Concern>('health.concerns');
