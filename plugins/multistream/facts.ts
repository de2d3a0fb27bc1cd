import { hasCode, isRefusal, unlessRefused } from '../../core/base/fault.ts';
import { valuesOf } from '../../core/base/limit-table.ts';
import { pause } from '../../core/base/timing.ts';
import type { CommandOf } from '../../core/plugin/actor.ts';
import type { Push, pushMachine } from '../../machines/push.ts';
import { streams } from '../streams/contract.ts';
import type { MultistreamKit } from './config.ts';
import { multistreamLimits } from './limits.ts';
import { push, pushIds, pushKind } from './push.ts';

const { factRetry, factRetryLongest, toldAtOnce, toldPerPush } = valuesOf(multistreamLimits);

/**
 * Tells the actors of pushes what this node saw, each its facts in order, again and again until they are stored. The first
 * begins the actor. What waits of one push is bounded: whole connections in the middle of it are left out.
 */
export function pushFacts(kit: MultistreamKit): PushFacts {
  const { clock, log, signal } = kit;
  const queues = new Map<string, Queue>();
  const waiting: (() => void)[] = [];
  let telling = 0;
  let facts = 0;

  const inTurn = async (work: () => Promise<void>) => {
    if (telling >= toldAtOnce) await new Promise<void>((resolve) => waiting.push(resolve));
    else telling += 1;
    try {
      await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else telling -= 1;
    }
  };
  const untilStored = async (id: string, fact: Fact): Promise<void> => {
    for (let tries = 1, delay = factRetry; ; tries += 1, delay = Math.min(2 * delay, factRetryLongest)) {
      try {
        await inTurn(() => tell(id, fact, kit));
        return;
      } catch (error) {
        const { streamId, targetId } = fact.of;
        const details = { streamId, targetId, fact: fact.command.type, tries, error };
        // The first time and then ever more rarely: it may last for hours, for thousands of pushes.
        if ((tries & (tries - 1)) === 0) {
          log.warn('what happened to a push could not be stored; it is tried again', details);
        }
        if (signal.aborted) return;
        await pause(clock.now() + delay, { clock, signal });
      }
    }
  };
  const drain = async (id: string, queue: Queue) => {
    for (let fact = queue.waiting.shift(); fact; fact = queue.waiting.shift()) await untilStored(id, fact);
    queues.delete(id);
  };

  return {
    add(of, command) {
      facts += 1;
      const { id, pair } = pushIds(of, kit.resources);
      const fact: Fact = { of, pair, command, cause: `push/${kit.deployment.node.incarnation}/${facts}` };
      const known = queues.get(id);
      if (known) {
        put(known.waiting, fact);
        return;
      }
      const queue: Queue = { waiting: [fact], end: Promise.resolve() };
      queues.set(id, queue);
      queue.end = drain(id, queue);
    },
    get waiting() {
      let all = 0;
      for (const queue of queues.values()) all += queue.waiting.length + 1;
      return all;
    },
    async told() {
      await Promise.all([...queues.values()].map(({ end }) => end));
    },
  };
}

export interface PushFacts {
  add(of: Pushed, command: NodeCommand): void;
  /** Facts that are not stored yet. */
  readonly waiting: number;
  /** Resolves when what was added so far is stored or given up. */
  told(): Promise<void>;
}

/** What is pushed where, with the name of the target as it is now. */
export type Pushed = Omit<Push, 'id' | 'pair' | 'createdAt'>;

/** What a node says of its push. */
export type NodeCommand = Exclude<CommandOf<typeof pushMachine>, { type: 'node.lost' | 'over' }>;

interface Fact {
  readonly of: Pushed;
  readonly pair: string;
  readonly command: NodeCommand;
  readonly cause: string;
}

interface Queue {
  /** Behind the one that is being told. */
  readonly waiting: Fact[];
  end: Promise<void>;
}

/** Only the last failure in a row counts. */
function put(waiting: Fact[], fact: Fact): void {
  const isFailure = fact.command.type === 'failed';
  if (isFailure && waiting.at(-1)?.command.type === 'failed') waiting.pop();
  waiting.push(fact);
  if (waiting.length > toldPerPush) shorten(waiting);
}

/** Leaves out the oldest stretch from one beginning, or one connection, to the next: what is left still alternates. */
function shorten(waiting: Fact[]): void {
  for (const type of ['begun', 'connected'] as const) {
    const from = waiting.findIndex(({ command }) => command.type === type);
    const to = waiting.findIndex(({ command }, index) => index > from && command.type === type);
    if (from < 0 || to < 0) continue;
    waiting.splice(from, to - from);
    return;
  }
}

async function tell(id: string, { of, pair, command, cause }: Fact, kit: MultistreamKit): Promise<void> {
  const described = await kit.use(streams).describe(of.streamId);
  const shown = { name: of.name, ...(described && { stream: described.body }) };
  try {
    await kit.actors.ask(push, id, { ...command, ...shown }, { cause });
  } catch (error) {
    // Somebody else pushes by now, or its session is over: nobody needs to hear of it.
    if (command.type !== 'begun' || !hasCode(error, 'actor.not_found')) {
      if (!isRefusal(error)) throw error;
      return;
    }
    if (!described) return;
    const session = await kit.use(streams).describe(of.sessionId);
    if (!session || session.isOver) return;
    await endFormer(of, { pair, kit });
    const { account, streamId, sessionId, targetId, profile, name } = of;
    const settings = {
      push: {
        ...{ id, pair, account, streamId, sessionId, targetId, profile, name },
        createdAt: kit.clock.now(),
      },
      ...{ holder: command.holder, stream: described.body },
    };
    await kit.actors.spawn(push, id, settings, { cause }).catch(unlessRefused);
  }
}

/** The same target in an earlier session of the stream: what was told of it ends before anything new is. */
async function endFormer(
  { sessionId }: Pushed,
  { pair, kit }: { pair: string; kit: MultistreamKit },
): Promise<void> {
  const row = await kit.resources.find(pushKind, 'pair', pair, { isBeside: true });
  if (!row || (JSON.parse(row.body) as Pushed).sessionId === sessionId) return;
  await kit.actors
    .ask(push, row.id, { type: 'over' }, { cause: `push/former/${row.id}` })
    .catch(unlessRefused);
}
