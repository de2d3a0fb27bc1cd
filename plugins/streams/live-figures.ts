import { services } from '../../core/plugin/services.ts';
import type { Figures } from '../../core/ports/media.ts';
import type { StreamsKit } from './config.ts';
import type { StreamDocument } from './document.ts';

/** How long an issue shows a newcomer that was refused because the key is in use, ms. */
const refusalShown = 60_000;

/** What is known of a broadcast beyond its row, at most two seconds old; any node can read it. */
export interface LiveFigures extends Figures {
  /** Of the publish. */
  readonly token: string;
  readonly viewers: number;
  /** Bytes of live memory. Absent in those of older nodes. */
  readonly memory?: number;
  /** What is wrong elsewhere, and leaves the stream healthy. */
  readonly remarks?: readonly string[];
}

/** Key of a stream's live figures in the Volatile port. */
export function liveKey(streamId: string): string {
  return `live/${streamId}`;
}

/** Key of a stream's last refusal in the Volatile port: there for as long as it is shown. */
function refusalKey(streamId: string): string {
  return `refused/${streamId}`;
}

/**
 * Notes that a newcomer was refused because the key is in use (`busyKey: "refuse"`), to show it to the owner on every node.
 * Not in the store: an encoder that retries all the time must not cost writes.
 */
export function noteRefusal(streamId: string, kit: StreamsKit): void {
  kit
    .use(services.volatile)
    .set([{ key: refusalKey(streamId), value: true }], { lasts: refusalShown })
    .catch((error: unknown) => kit.log.debug('a refused newcomer could not be noted', { error }));
}

/** What is known of a broadcast at this moment. */
export interface LiveState {
  readonly figures?: LiveFigures | undefined;
  /** A newcomer was refused lately because the key is in use. */
  readonly isContested: boolean;
}

export const unknownState: LiveState = { isContested: false };

/**
 * The live state of a stream or session: one lookup while somebody broadcasts, none otherwise. Without an answer the stored
 * figures are shown, at most 30 s old: live figures are no reason to fail a request.
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
