import { safeCalls } from '../../core/plugin/safe-calls.ts';
import { token } from '../../core/plugin/token.ts';
import type { PublishGrant } from '../../core/ports/media.ts';
import { type LiveObserver, streams } from '../streams/contract.ts';
import type { HealthKit } from './config.ts';
import { type Concern, concerns } from './contract.ts';
import { History } from './history.ts';
import { Judge } from './judge.ts';
import type { Point } from './point.ts';

/** How long the history of a session stays readable after its playlist has gone, ms. */
const keptAfter = 600_000;
/** Histories of ended sessions; of more, the one that ended first goes. */
export const maxEnded = 1000;
/** Shortest time between two `stream.health` events of a session, ms; then only the last change counts. */
const eventInterval = 10_000;

/** Health of the broadcasts of this node. */
export interface Health extends LiveObserver {
  /** The last hour of a session, oldest first. Empty when it is not known here. */
  points(sessionId: string): readonly Point[];
  /** Broadcasts that are on the air and not healthy. */
  readonly unhealthy: number;
  stop(): void;
}

export const health = token<Health>('health');

/** Judges the broadcasts of this node once a second, keeps their history, and announces changes of their health. */
export function healthWatch(kit: HealthKit): Health {
  const { clock } = kit;
  const { maxBitrate } = kit.config;
  /** By session. Ended ones are in the order of their ends, among the others. */
  const watched = new Map<string, Watched>();
  const safely = safeCalls(kit);
  let others: readonly Concern[] | undefined;

  const forget = (sessionId: string) => {
    watched.get(sessionId)?.cancel?.();
    watched.delete(sessionId);
  };
  const begin = ({ sessionId, token }: PublishGrant): Watched => {
    const former = watched.get(sessionId);
    former?.cancel?.();
    const begun = {
      token,
      history: former?.history ?? new History(),
      judge: new Judge({ maxBitrate }),
      isHealthy: true,
      announced: former?.announced ?? { isHealthy: true, at: 0, number: 0, isEmitting: false },
      cancel: undefined,
    };
    watched.set(sessionId, begun);
    return begun;
  };
  const end = (sessionId: string, one: Watched) => {
    // To the end, so that ended sessions stay in order.
    watched.delete(sessionId);
    watched.set(sessionId, one);
    one.cancel = clock.at(clock.now() + keptAfter, () => forget(sessionId));
    // A broadcast begins healthy.
    Object.assign(one.announced, { isHealthy: true, at: 0 });
  };

  return {
    look(reading, now) {
      const { grant, figures, viewers: viewerCount, isPublishing } = reading;
      const known = watched.get(grant.sessionId);
      const isKnown = known?.token === grant.token && known.cancel === undefined;
      const one = isKnown ? known : begin(grant);
      const verdict = one.judge.look(reading, now);
      others ??= kit.offered(concerns);
      const theirs = others.flatMap((concern) =>
        safely(concerns.id, { call: () => concern(reading, now), otherwise: [] }),
      );
      const issues = [...(isPublishing ? figures.issues : []), ...theirs, ...verdict.issues];
      const ingestRate = isPublishing ? figures.ingestRate : 0;
      one.history.add({ ...verdict, ingestRate, viewerCount, issues }, now);
      one.isHealthy = issues.length === 0;
      announce(kit, { grant, last: one.announced, issues, now });
      return verdict.issues;
    },
    seen(sessions) {
      for (const [id, one] of [...watched]) if (one.cancel === undefined && !sessions.has(id)) end(id, one);
      const ended = [...watched].filter(([, { cancel }]) => cancel !== undefined);
      for (const [id] of ended.slice(0, Math.max(0, ended.length - maxEnded))) forget(id);
    },
    points: (sessionId) => watched.get(sessionId)?.history.points ?? [],
    get unhealthy() {
      return [...watched.values()].filter((one) => !one.isHealthy && one.cancel === undefined).length;
    },
    stop() {
      for (const { cancel } of watched.values()) cancel?.();
      watched.clear();
    },
  };
}

/**
 * Emits `stream.health` when a broadcast on the air became unhealthy or healthy again. A write that failed is tried again
 * with the next second.
 */
function announce(kit: HealthKit, state: State): void {
  const { last, issues, now, grant } = state;
  if (last.isEmitting || (issues.length === 0) === last.isHealthy || now - last.at < eventInterval) return;
  last.isEmitting = true;
  const { streamId } = grant;
  emit(kit, state)
    .catch((error: unknown) =>
      kit.log.warn('stream.health could not be written; it is retried', { streamId, error }),
    )
    .finally(() => {
      last.isEmitting = false;
    });
}

async function emit(kit: HealthKit, { grant, last, issues, now }: State): Promise<void> {
  const { streamId, sessionId, token } = grant;
  const described = await kit.use(streams).describe(streamId);
  // Only while its playlist works.
  if (!described?.isActive) return;
  last.number += 1;
  const isHealthy = issues.length === 0;
  const type = 'stream.health';
  // Tokens are new in every process.
  const id = `${token}/${last.number}/${type}`;
  const body = JSON.stringify({
    ...{ id, createdAt: now, timestamp: now, event: type },
    stream: { ...described.body, isHealthy, issues },
    payload: { health: { sessionId, isHealthy, issues } },
  });
  const event = { id, type, account: described.account, stream: streamId, body };
  await kit.resources.write({ rows: [], events: [event] });
  Object.assign(last, { isHealthy, at: now });
}

interface State {
  readonly grant: PublishGrant;
  readonly last: Announced;
  readonly issues: readonly string[];
  readonly now: number;
}

/** The last event of a session. */
interface Announced {
  isHealthy: boolean;
  at: number;
  number: number;
  isEmitting: boolean;
}

interface Watched {
  readonly token: string;
  readonly history: History;
  readonly judge: Judge;
  readonly announced: Announced;
  isHealthy: boolean;
  /** Set at its end: cancels the timer that removes it. */
  cancel: (() => void) | undefined;
}
