import type { CommandOf } from '../../core/actor.ts';
import { isRefusal } from '../../core/fault.ts';
import type { MediaFact } from '../../core/ports/media.ts';
import type { broadcastMachine, MediaFigures } from '../../machines/broadcast.ts';
import { broadcast } from './actor.ts';
import type { StreamsKit } from './kit.ts';
import { streamLimits } from './limits.ts';

/** Wait before a fact is told again while the store does not answer, ms. */
const retryDelay = streamLimits.factRetry.value;

/**
 * Tells broadcasts what the media saw, each stream's facts in order, again and again until the store took
 * them. A fact of a publish that no longer counts is dropped.
 */
export function mediaFacts(kit: StreamsKit): { report(fact: MediaFact): void; told(): Promise<void> } {
  const tails = new Map<string, Promise<void>>();
  return {
    report(fact) {
      const id = fact.grant.streamId;
      const tell = () => untilTaken(fact, kit);
      const run = (tails.get(id) ?? Promise.resolve()).then(tell);
      tails.set(id, run);
      run.then(() => tails.get(id) === run && tails.delete(id));
    },
    /** Resolves when what was reported so far is stored or given up. */
    async told() {
      await Promise.all(tails.values());
    },
  };
}

/** Those figures of a publish that are stored. */
export function publishFigures(figures: MediaFigures): MediaFigures {
  const { bytes, segments, duration, lastMediaAt, targetDuration } = figures;
  return { bytes, segments, duration, lastMediaAt, targetDuration };
}

async function untilTaken(fact: MediaFact, kit: StreamsKit): Promise<void> {
  const { streamId } = fact.grant;
  for (;;) {
    try {
      await kit.actors.ask(broadcast, streamId, commandOf(fact));
      return;
    } catch (error) {
      if (isRefusal(error)) return;
      if (kit.signal.aborted) return;
      kit.log.warn('a media fact could not be stored; it is tried again', {
        streamId,
        fact: fact.type,
        error,
      });
      await new Promise<void>((resolve) => kit.clock.at(kit.clock.now() + retryDelay, resolve));
    }
  }
}

function commandOf(fact: MediaFact): CommandOf<typeof broadcastMachine> {
  const { token } = fact.grant;
  const figures = publishFigures(fact.figures);
  if (fact.type === 'closed') return { type: 'closed', token, isClean: fact.clean, figures };
  return { type: fact.type, token, figures };
}
