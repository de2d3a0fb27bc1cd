import { unlessRefused } from '../../core/base/fault.ts';
import { KeyedQueues } from '../../core/base/keyed-queues.ts';
import { pause } from '../../core/base/timing.ts';
import type { CommandOf } from '../../core/plugin/actor.ts';
import type { MediaFact } from '../../core/ports/media.ts';
import type { broadcastMachine } from '../../machines/broadcast.ts';
import type { MediaFigures } from '../../machines/broadcast-context.ts';
import { broadcast } from './actor.ts';
import type { StreamsKit } from './config.ts';

/**
 * When a publish whose admission got no answer is closed again, ms after the first time: its broadcast may have admitted
 * it late. One that is admitted later still ends with the next takeover, or with its node.
 */
const closeAgain = [15_000, 60_000];

/**
 * Reports to broadcasts what the media saw, each stream's facts in order, again and again until they are stored. A fact of
 * a publish that no longer counts is dropped. Of one publish at most two facts wait: later figures replace earlier ones.
 */
export function mediaFacts(kit: StreamsKit) {
  const { clock, log, signal, actors } = kit;
  const queues = new KeyedQueues<Fact>({
    ...{ clock, signal, put },
    work: ({ streamId, command }) => actors.ask(broadcast, streamId, command).then(() => {}, unlessRefused),
    failed: ({ streamId, command: { type } }, details) =>
      log.warn('a media fact could not be stored; it is retried', { streamId, fact: type, ...details }),
  });
  const add = (fact: Fact) => queues.add(fact.streamId, fact);

  return {
    report: (fact: MediaFact): void => add({ streamId: fact.grant.streamId, command: commandOf(fact) }),
    /** A publish that its broadcast may or may not have admitted: it never begins. */
    abandon({ streamId, token }: { streamId: string; token: string }): void {
      const fact: Fact = { streamId, command: { type: 'closed', token, isClean: false, figures: nothing } };
      add(fact);
      for (const delay of closeAgain) {
        if (signal.aborted) return;
        const due = clock.now() + delay;
        void pause(due, { clock, signal }).then(() => signal.aborted || add(fact));
      }
    },
    /** Resolves when what was reported so far is stored or given up. */
    settled: () => queues.settled(),
  };
}

/** The figures of a publish that are stored. */
export function publishFigures(figures: MediaFigures): MediaFigures {
  const { bytes, segments, duration, lastMediaAt, targetDuration } = figures;
  return { bytes, segments, duration, lastMediaAt, targetDuration };
}

interface Fact {
  readonly streamId: string;
  readonly command: Extract<CommandOf<typeof broadcastMachine>, { type: 'playable' | 'progress' | 'closed' }>;
}

const nothing: MediaFigures = { bytes: 0, segments: 0, duration: 0, lastMediaAt: 0, targetDuration: 0 };

function put(waiting: Fact[], fact: Fact): void {
  const last = waiting.at(-1);
  if (last?.command.token !== fact.command.token) {
    waiting.push(fact);
  } else if (last.command.type === 'progress') {
    waiting[waiting.length - 1] = fact;
  } else if (last.command.type === 'playable' && fact.command.type === 'progress') {
    waiting[waiting.length - 1] = { ...last, command: { ...last.command, figures: fact.command.figures } };
  } else if (last.command.type !== 'closed') {
    waiting.push(fact);
  }
}

function commandOf(fact: MediaFact): Fact['command'] {
  const { token } = fact.grant;
  const figures = publishFigures(fact.figures);
  if (fact.type === 'closed') return { type: 'closed', token, isClean: fact.clean, figures };
  return { type: fact.type, token, figures };
}
