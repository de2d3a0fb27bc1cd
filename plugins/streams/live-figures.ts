import type { LiveReading } from '../../core/ports/media.ts';
import type { StreamDocument } from './document.ts';
import type { StreamsKit } from './kit.ts';

/** What is known of a broadcast beyond its row, at most a second or two old; any node can read it. */
export interface LiveFigures {
  /** Of the publish that the figures are of. */
  readonly token: string;
  readonly bytes: number;
  readonly segments: number;
  /** Seconds of media. */
  readonly duration: number;
  /** bit/s */
  readonly ingestRate: number;
  /** Epoch ms. */
  readonly lastMediaAt: number;
  readonly viewers: number;
  /** What is wrong, in plain words with what to do. */
  readonly issues: readonly string[];
}

/** The key of a stream's live figures in the Volatile port. */
export function liveKey(streamId: string): string {
  return `live/${streamId}`;
}

export function liveFiguresOf(reading: LiveReading, issues: readonly string[]): LiveFigures {
  const { grant, figures, viewers } = reading;
  const { bytes, segments, duration, ingestRate, lastMediaAt } = figures;
  return { token: grant.token, bytes, segments, duration, ingestRate, lastMediaAt, viewers, issues };
}

/**
 * The live figures of a stream or session: one lookup while it is on the air, none otherwise. Without an answer
 * it is shown as it was stored, at most 30 s ago: figures are no reason to fail a request.
 */
export async function readLive(document: StreamDocument, kit: StreamsKit): Promise<LiveFigures | undefined> {
  const key = liveKey(document.parentId ?? document.id);
  try {
    const [found] = await kit.volatile.get([key]);
    return found as unknown as LiveFigures | undefined;
  } catch (error) {
    kit.log.debug('live figures could not be read', { error });
    return undefined;
  }
}
