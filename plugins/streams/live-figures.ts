import { services } from '../../core/plugin/services.ts';
import type { LiveReading } from '../../core/ports/media.ts';
import type { StreamDocument } from './document.ts';
import type { StreamsKit } from './kit.ts';
import { refusalKey } from './refusals.ts';

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
  /** EXT-X-TARGETDURATION, seconds. */
  readonly targetDuration: number;
  readonly viewers: number;
  /** What is wrong, in plain words with what to do. */
  readonly issues: readonly string[];
  /** What is wrong elsewhere, and leaves the stream healthy. Figures from before have none. */
  readonly remarks?: readonly string[];
}

/** The key of a stream's live figures in the Volatile port. */
export function liveKey(streamId: string): string {
  return `live/${streamId}`;
}

export function liveFiguresOf(
  reading: LiveReading,
  { issues, remarks }: Required<Pick<LiveFigures, 'issues' | 'remarks'>>,
): LiveFigures {
  const { grant, figures, viewers } = reading;
  const { bytes, segments, duration, ingestRate, lastMediaAt, targetDuration } = figures;
  const media = { bytes, segments, duration, ingestRate, lastMediaAt, targetDuration };
  return { token: grant.token, ...media, viewers, issues, ...(remarks.length > 0 && { remarks }) };
}

/** What is known of a broadcast at this moment. */
export interface LiveState {
  readonly figures?: LiveFigures | undefined;
  /** A newcomer was refused a little while ago, because the key is in use. */
  readonly isContested: boolean;
}

/** Of what nothing is known. */
export const unknownState: LiveState = { isContested: false };

/**
 * The live state of a stream or session: one lookup while somebody broadcasts, none otherwise. Without an answer
 * it is shown as it was stored, at most 30 s ago: figures are no reason to fail a request.
 */
export async function readLive(document: StreamDocument, kit: StreamsKit): Promise<LiveState> {
  const { isActive, incarnation } = document;
  const mayBeContested = incarnation !== null && kit.config.busyKey === 'refuse';
  if (!isActive && !mayBeContested) return unknownState;
  const id = document.parentId ?? document.id;
  const keys = mayBeContested ? [liveKey(id), refusalKey(id)] : [liveKey(id)];
  try {
    const [figures, refusal] = await kit.use(services.volatile).get(keys);
    return {
      figures: figures as unknown as LiveFigures | undefined,
      isContested: refusal !== undefined,
    };
  } catch (error) {
    kit.log.debug('live figures could not be read', { error });
    return unknownState;
  }
}
