import { isRefusal } from '../../core/base/fault.ts';
import type { CommandOf } from '../../core/plugin/actor.ts';
import type { MediaFact } from '../../core/ports/media.ts';
import type { broadcastMachine } from '../../machines/broadcast.ts';
import type { MediaFigures } from '../../machines/broadcast-context.ts';
import { broadcast } from './actor.ts';
import type { StreamsKit } from './kit.ts';
import { streamLimits } from './limits.ts';

/** Wait before a fact is told again while nobody takes it, ms: doubling from the one to the other. */
const firstRetry = streamLimits.factRetry.value;
const longestRetry = streamLimits.factRetryLongest.value;

/**
 * Tells broadcasts what the media saw, each stream's facts in order, again and again until they are taken; a fact of a
 * publish that no longer counts is dropped. Of one publish at most two facts wait, however long that takes: later
 * figures stand in for earlier ones.
 */
export function mediaFacts(kit: StreamsKit): MediaFacts {
  const { clock, log, signal } = kit;
  const queues = new Map<string, Queue>();

  /** Until it is time to try again, or the program is about to end: then each fact is tried once more. */
  const wait = (delay: number) =>
    new Promise<void>((resolve) => {
      const end = () => {
        cancel();
        signal.removeEventListener('abort', end);
        resolve();
      };
      const cancel = clock.at(clock.now() + delay, end);
      signal.addEventListener('abort', end);
    });
  const untilTaken = async (fact: Fact): Promise<void> => {
    for (let tries = 1, delay = firstRetry; ; tries += 1, delay = Math.min(2 * delay, longestRetry)) {
      try {
        await kit.actors.ask(broadcast, fact.streamId, fact.command);
        return;
      } catch (error) {
        if (isRefusal(error)) return;
        const { streamId, command } = fact;
        // The first time and then ever more rarely: it may last for hours, for thousands of streams.
        if ((tries & (tries - 1)) === 0) {
          const details = { streamId, fact: command.type, tries, error };
          log.warn('a media fact could not be stored; it is tried again', details);
        }
        if (signal.aborted) return;
        await wait(delay);
      }
    }
  };
  const drain = async (streamId: string, queue: Queue) => {
    for (let fact = queue.waiting.shift(); fact; fact = queue.waiting.shift()) await untilTaken(fact);
    queues.delete(streamId);
  };
  const add = (fact: Fact) => {
    const known = queues.get(fact.streamId);
    if (known) {
      put(known.waiting, fact);
      return;
    }
    const queue: Queue = { waiting: [fact], end: Promise.resolve() };
    queues.set(fact.streamId, queue);
    queue.end = drain(fact.streamId, queue);
  };

  return {
    report: (fact) => add({ streamId: fact.grant.streamId, command: commandOf(fact) }),
    abandon({ streamId, token }) {
      const command = { type: 'closed', token, isClean: false, figures: nothing } as const;
      add({ streamId, command });
      // The publish may reach its broadcast only after that: its answer was not waited for.
      for (const delay of abandonAgain) {
        if (!signal.aborted) void wait(delay).then(() => signal.aborted || add({ streamId, command }));
      }
    },
    get waiting() {
      let waiting = 0;
      for (const queue of queues.values()) waiting += queue.waiting.length + 1;
      return waiting;
    },
    async told() {
      await Promise.all([...queues.values()].map(({ end }) => end));
    },
  };
}

/** When a publish whose admission got no answer is closed again, ms after the first time. */
const abandonAgain = [streamLimits.abandonAgain.value, 4 * streamLimits.abandonAgain.value];

export interface MediaFacts {
  report(fact: MediaFact): void;
  /** A publish of which nobody knows whether its broadcast has let it in: it never begins. */
  abandon(publish: { streamId: string; token: string }): void;
  /** Facts that are not taken yet. */
  readonly waiting: number;
  /** Resolves when what was reported so far is stored or given up. */
  told(): Promise<void>;
}

/** Those figures of a publish that are stored. */
export function publishFigures(figures: MediaFigures): MediaFigures {
  const { bytes, segments, duration, lastMediaAt, targetDuration } = figures;
  return { bytes, segments, duration, lastMediaAt, targetDuration };
}

type Command = CommandOf<typeof broadcastMachine>;

interface Fact {
  readonly streamId: string;
  readonly command: Extract<Command, { type: 'playable' | 'progress' | 'closed' }>;
}

interface Queue {
  /** Behind the one that is being told. */
  readonly waiting: Fact[];
  end: Promise<void>;
}

const nothing: MediaFigures = { bytes: 0, segments: 0, duration: 0, lastMediaAt: 0, targetDuration: 0 };

function put(waiting: Fact[], fact: Fact): void {
  const last = waiting.at(-1);
  if (last?.command.token !== fact.command.token) {
    waiting.push(fact);
  } else if (last.command.type === 'progress') {
    waiting[waiting.length - 1] = fact;
  } else if (last.command.type === 'playable' && fact.command.type === 'progress') {
    const command = { ...last.command, figures: fact.command.figures };
    waiting[waiting.length - 1] = { ...last, command };
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
