import type { PublishGrant } from '../../core/ports/media.ts';
import { streams } from '../streams/contract.ts';
import type { HealthKit } from './kit.ts';
import { eventInterval } from './limits.ts';

/**
 * Emits `stream.health` when a broadcast that is on the air became unhealthy or healthy again, and seldom enough:
 * one that flaps is told as it is when the interval is over. A broadcast begins as healthy.
 */
export function announcer(kit: HealthKit): Announcer {
  const told = new Map<string, Told>();

  const tell = async (state: State, now: number, last: Told): Promise<void> => {
    const { grant, isHealthy, issues } = state;
    const { streamId, sessionId, token } = grant;
    const described = await kit.use(streams).describe(streamId);
    // Before its playlist works, and after, nobody is told how it does.
    if (!described?.isActive) return;
    last.number += 1;
    const id = `${token}/${last.number}/stream.health`;
    const head = { id, createdAt: now, timestamp: now, event: 'stream.health' };
    const payload = { health: { sessionId, isHealthy, issues } };
    const stream = { ...described.body, isHealthy, issues };
    const body = JSON.stringify({ ...head, stream, payload });
    const event = { id, type: 'stream.health', account: described.account, stream: streamId, body };
    await kit.resources.write({ rows: [], events: [event] });
    last.isHealthy = isHealthy;
    last.at = now;
  };

  return {
    look(state, now) {
      const { streamId, sessionId, token } = state.grant;
      let last = told.get(sessionId);
      if (!last) {
        last = { token, isHealthy: true, at: 0, number: 0, isTelling: false };
        told.set(sessionId, last);
      }
      // Numbers count within a token, which is new in every process.
      if (last.token !== token) Object.assign(last, { token, number: 0 });
      if (last.isTelling || state.isHealthy === last.isHealthy || now - last.at < eventInterval) return;
      const telling = last;
      telling.isTelling = true;
      tell(state, now, telling)
        .catch((error: unknown) =>
          kit.log.warn('stream.health could not be written; it is tried again', { streamId, error }),
        )
        .finally(() => {
          telling.isTelling = false;
        });
    },
    forget: (sessionId) => void told.delete(sessionId),
  };
}

interface Announcer {
  look(state: State, now: number): void;
  /** The session is over. */
  forget(sessionId: string): void;
}

interface State {
  readonly grant: PublishGrant;
  readonly isHealthy: boolean;
  readonly issues: readonly string[];
}

interface Told {
  token: string;
  isHealthy: boolean;
  at: number;
  number: number;
  isTelling: boolean;
}
