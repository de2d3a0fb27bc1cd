import type { LiveReading } from '../../core/ports/media.ts';
import type { LiveObserver } from '../streams/contract.ts';
import { announcer } from './announce.ts';
import type { HealthKit } from './config.ts';
import { type Concern, concerns, type Health } from './contract.ts';
import { History } from './history.ts';
import { textsOf } from './issues.ts';
import { Judge } from './judge.ts';

/** How long the history of a session stays readable after its playlist has gone, ms. */
const keptAfter = 600_000;
/** Histories of ended sessions; of more, the one that ended first goes. */
export const maxEnded = 1000;

/** Judges the broadcasts of this node once a second, keeps their history, and announces changes of their health. */
export function healthWatch(kit: HealthKit): Health & LiveObserver & { stop(): void } {
  const { clock } = kit;
  const { maxBitrate } = kit.config;
  /** By session. Ended ones are in the order of their ends, among the others. */
  const watched = new Map<string, Watched>();
  /** Stream → its newest session on this node. */
  const newest = new Map<string, string>();
  const announce = announcer(kit);
  let others: readonly Concern[] | undefined;

  const forget = (sessionId: string) => {
    const one = watched.get(sessionId);
    one?.cancel?.();
    watched.delete(sessionId);
    if (one && newest.get(one.streamId) === sessionId) newest.delete(one.streamId);
  };
  const begin = ({ grant }: LiveReading): Watched => {
    const { streamId, sessionId, token } = grant;
    const former = watched.get(sessionId);
    former?.cancel?.();
    const history = former?.history ?? new History();
    const judge = new Judge({ maxBitrate });
    const begun = { streamId, token, history, judge, isHealthy: true, cancel: undefined };
    watched.set(sessionId, begun);
    newest.set(streamId, sessionId);
    return begun;
  };
  const end = (sessionId: string, one: Watched) => {
    // To the end, so that ended sessions stay in order.
    watched.delete(sessionId);
    watched.set(sessionId, one);
    one.cancel = clock.at(clock.now() + keptAfter, () => forget(sessionId));
    announce.forget(sessionId);
  };
  const trim = () => {
    const over = [...watched].filter(([, { cancel }]) => cancel !== undefined);
    for (const [id] of over.slice(0, Math.max(0, over.length - maxEnded))) forget(id);
  };
  const look = (reading: LiveReading, now: number): readonly string[] => {
    const { grant, figures, viewers, isPublishing } = reading;
    const known = watched.get(grant.sessionId);
    const isKnown = known?.token === grant.token && known.cancel === undefined;
    const one = isKnown ? known : begin(reading);
    const verdict = one.judge.look(reading, now);
    const ingestRate = isPublishing ? figures.ingestRate : 0;
    others ??= kit.offered(concerns);
    const theirs = others.flatMap((concern) => concern(reading, now));
    const reported = isPublishing ? [...figures.issues, ...theirs] : theirs;
    one.history.add({ ...verdict, ingestRate, viewers, reported }, now);
    one.isHealthy = verdict.issues === 0 && reported.length === 0;
    const issues = textsOf(verdict.issues);
    announce.look({ grant, isHealthy: one.isHealthy, issues: [...reported, ...issues] }, now);
    return issues;
  };

  return {
    look,
    seen(sessions) {
      const gone = [...watched].filter(([id, { cancel }]) => cancel === undefined && !sessions.has(id));
      for (const [id, one] of gone) end(id, one);
      if (gone.length > 0) trim();
    },
    points({ streamId, sessionId = newest.get(streamId) ?? '' }) {
      const found = watched.get(sessionId);
      return found?.streamId === streamId ? found.history.points() : [];
    },
    get unhealthy() {
      let unhealthy = 0;
      for (const { isHealthy, cancel } of watched.values())
        if (!isHealthy && cancel === undefined) unhealthy += 1;
      return unhealthy;
    },
    stop() {
      for (const { cancel } of watched.values()) cancel?.();
      watched.clear();
      newest.clear();
    },
  };
}

interface Watched {
  readonly streamId: string;
  readonly token: string;
  readonly history: History;
  readonly judge: Judge;
  isHealthy: boolean;
  /** Set at its end: cancels the timer that removes it. */
  cancel: (() => void) | undefined;
}
