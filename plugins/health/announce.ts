import type { PublishGrant } from '../../core/ports/media.ts';
import { streams } from '../streams/contract.ts';
import type { HealthKit } from './config.ts';

/** Shortest time between two `stream.health` events of a stream, ms; then only the last change counts. */
const eventInterval = 10_000;

/**
 * Emits `stream.health` when a broadcast on the air became unhealthy or healthy again, at most once in an interval. A
 * broadcast begins healthy.
 */
export function announcer(kit: HealthKit): Announcer {
  const announced = new Map<string, Announced>();

  const emit = async (state: State, now: number, last: Announced): Promise<void> => {
    const { grant, isHealthy, issues } = state;
    const { streamId, sessionId, token } = grant;
    const described = await kit.use(streams).describe(streamId);
    // Only while its playlist works.
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
      let last = announced.get(sessionId);
      if (!last) {
        last = { token, isHealthy: true, at: 0, number: 0, isEmitting: false };
        announced.set(sessionId, last);
      }
      // Numbers count within a token, which is new in every process.
      if (last.token !== token) Object.assign(last, { token, number: 0 });
      if (last.isEmitting || state.isHealthy === last.isHealthy || now - last.at < eventInterval) return;
      const emitting = last;
      emitting.isEmitting = true;
      emit(state, now, emitting)
        .catch((error: unknown) =>
          kit.log.warn('stream.health could not be written; it is retried', { streamId, error }),
        )
        .finally(() => {
          emitting.isEmitting = false;
        });
    },
    forget: (sessionId) => void announced.delete(sessionId),
  };
}

interface Announcer {
  look(state: State, now: number): void;
  /** The session has ended. */
  forget(sessionId: string): void;
}

interface State {
  readonly grant: PublishGrant;
  readonly isHealthy: boolean;
  readonly issues: readonly string[];
}

interface Announced {
  token: string;
  isHealthy: boolean;
  at: number;
  number: number;
  isEmitting: boolean;
}
