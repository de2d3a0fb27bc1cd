import { hasCode, isRefusal, unlessRefused } from '../../core/base/fault.ts';
import { KeyedQueues } from '../../core/base/keyed-queues.ts';
import type { CommandOf } from '../../core/plugin/actor.ts';
import type { Push, pushMachine } from '../../machines/push.ts';
import { streams } from '../streams/contract.ts';
import type { MultistreamKit } from './config.ts';
import { push, pushIds, pushKind } from './push.ts';

/** Facts of one push that wait while the store does not answer. */
const maxWaiting = 16;

/**
 * Reports to the actors of pushes what this node saw, each push's facts in order, again and again until they are stored. The
 * first fact creates the actor.
 */
export function pushFacts(kit: MultistreamKit) {
  const { clock, log, signal } = kit;
  let facts = 0;
  const queues = new KeyedQueues<Fact>({
    ...{ clock, signal, put },
    work: (fact) => report(fact, kit),
    failed: ({ of: { streamId, targetId }, command: { type } }, details) =>
      log.warn('a push fact could not be stored; it is retried', {
        streamId,
        targetId,
        fact: type,
        ...details,
      }),
  });
  return {
    add(of: Pushed, command: NodeCommand): void {
      facts += 1;
      const { id, pair } = pushIds(of, kit.resources);
      queues.add(id, { id, of, pair, command, cause: `push/${kit.deployment.node.incarnation}/${facts}` });
    },
    /** Facts that are not stored yet. */
    get waiting(): number {
      return queues.size;
    },
    /** Resolves when what was added so far is stored or given up. */
    settled: () => queues.settled(),
  };
}

/** What is pushed where, with the current name of the target. */
export type Pushed = Omit<Push, 'id' | 'pair' | 'createdAt'>;

/** A fact that the node reports about its own push. */
type NodeCommand = Exclude<CommandOf<typeof pushMachine>, { type: 'node.lost' | 'over' }>;

interface Fact {
  readonly id: string;
  readonly of: Pushed;
  readonly pair: string;
  readonly command: NodeCommand;
  readonly cause: string;
}

/** Only the last failure in a row counts. Of too many facts the oldest goes that does not begin a push: the machine still alternates. */
function put(waiting: Fact[], fact: Fact): void {
  const isFailure = fact.command.type === 'failed';
  if (isFailure && waiting.at(-1)?.command.type === 'failed') waiting.pop();
  waiting.push(fact);
  if (waiting.length <= maxWaiting) return;
  const oldest = waiting.findIndex(({ command }) => command.type !== 'begun');
  waiting.splice(Math.max(0, oldest), 1);
}

async function report({ id, of, pair, command, cause }: Fact, kit: MultistreamKit): Promise<void> {
  const described = await kit.use(streams).describe(of.streamId);
  const shown = { name: of.name, ...(described && { stream: described.body }) };
  try {
    await kit.actors.ask(push, id, { ...command, ...shown }, { cause });
  } catch (error) {
    if (!isRefusal(error)) throw error;
    // Another process pushes now, or the session has ended: the fact no longer matters.
    if (command.type !== 'begun' || !hasCode(error, 'actor.not_found') || !described) return;
    const session = await kit.use(streams).describe(of.sessionId);
    if (!session || session.isOver) return;
    await endFormer(of, { pair, kit });
    const { account, streamId, sessionId, targetId, profile, name } = of;
    const createdAt = kit.clock.now();
    const settings = {
      push: { id, pair, account, streamId, sessionId, targetId, profile, name, createdAt },
      ...{ holder: command.holder, stream: described.body },
    };
    await kit.actors.spawn(push, id, settings, { cause }).catch(unlessRefused);
  }
}

/** The same target in an earlier session of the stream: its events end before new ones begin. */
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
