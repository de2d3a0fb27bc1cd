import { hasCode, isRefusal, unlessRefused } from '../../core/base/fault.ts';
import { KeyedQueues } from '../../core/base/keyed-queues.ts';
import { within } from '../../core/base/timing.ts';
import type { CommandOf } from '../../core/plugin/actor.ts';
import type { PushFact, PushTrouble } from '../../core/ports/pusher.ts';
import type { Holder, Push, pushMachine } from '../../machines/push.ts';
import { streams } from '../streams/contract.ts';
import type { MultistreamKit } from './config.ts';
import { push, pushIds, pushKind } from './push.ts';

/** How long a stopping node waits for its pushes to report their end, ms. Of later ones the next process reports a loss. */
const stopWait = 2000;

/**
 * Turns reports of the pusher into facts for the actors: which push of which session, and which process reports it. A push that
 * continues with another publish or session reports its state again.
 */
export class PushFollower {
  readonly #kit: MultistreamKit;
  readonly #facts: ReturnType<typeof pushFacts>;
  /** Wanted pushes of each playlist, by push id. */
  readonly #wanted = new Map<string, ReadonlyMap<string, WantedPush>>();
  /** Those with a reported fact, until they have ended. */
  readonly #running = new Map<string, Running>();
  #begun = 0;
  #onIdle = () => {};

  constructor(kit: MultistreamKit) {
    this.#kit = kit;
    this.#facts = pushFacts(kit);
  }

  /** Wanted pushes of a playlist from now on, by push id; called before the pusher is. */
  wants(playbackId: string, pushes: ReadonlyMap<string, WantedPush>): void {
    if (pushes.size === 0) this.#wanted.delete(playbackId);
    else this.#wanted.set(playbackId, pushes);
    for (const [id, now] of pushes) {
      const one = this.#running.get(keyOf(playbackId, id));
      if (one) this.#goOn(one, now);
    }
  }

  report(fact: PushFact): void {
    const key = keyOf(fact.playbackId, fact.id);
    let one = this.#running.get(key);
    if (!one) {
      const of = this.#wanted.get(fact.playbackId)?.get(fact.id);
      // It ends without any reported fact: there is nothing to report.
      if (!of || fact.type === 'ended') return;
      one = this.#begin(of);
      this.#running.set(key, one);
    }
    const { of, holder } = one;
    const { token } = holder;
    this.#kit.log.debug('a push to a multistream target', {
      ...{ streamId: of.streamId, targetId: of.targetId, what: fact.type },
      ...('trouble' in fact && { reason: fact.trouble.reason }),
    });
    if (fact.type === 'connected') {
      Object.assign(one, { isConnected: true, trouble: undefined });
      this.#facts.add(of, { type: 'connected', token });
    } else if (fact.type === 'ended') {
      this.#running.delete(key);
      this.#facts.add(of, { type: 'ended', token });
      if (this.#running.size === 0) this.#onIdle();
    } else if (fact.type === 'slow') {
      this.#facts.add(of, { type: 'slow', token, trouble: fact.trouble });
    } else {
      // An attempt that fails like the one before changes nothing, and there are thousands a day.
      const isNews = fact.type === 'lost' || one.trouble?.reason !== fact.trouble.reason;
      Object.assign(one, { isConnected: false, trouble: fact.trouble });
      if (isNews) this.#facts.add(of, { type: fact.type, token, trouble: fact.trouble });
    }
  }

  /** Facts that are not stored yet. */
  get waiting(): number {
    return this.#facts.waiting;
  }

  /** Resolves when every push has ended or its time is up, and all facts are stored or given up. */
  async ended(): Promise<void> {
    const { clock } = this.#kit;
    const idle = Promise.withResolvers<void>();
    this.#onIdle = idle.resolve;
    if (this.#running.size === 0) idle.resolve();
    const late = () => new Error('pushes did not end in time');
    await within(idle.promise, { ms: stopWait, clock, late }).catch(() => {});
    await this.#facts.settled();
  }

  #begin(of: WantedPush): Running {
    this.#begun += 1;
    const { node } = this.#kit.deployment;
    const token = `${node.incarnation}/${this.#begun}`;
    const { id, incarnation } = node;
    const holder = { token, node: id, incarnation, publish: of.publish, number: this.#begun };
    this.#facts.add(of, { type: 'begun', holder });
    return { of, holder, isConnected: false, trouble: undefined };
  }

  /** The current state, for an actor that just learned which process pushes. */
  #reportState({ of, holder: { token }, isConnected, trouble }: Running): void {
    if (isConnected) this.#facts.add(of, { type: 'connected', token });
    else if (trouble) this.#facts.add(of, { type: 'failed', token, trouble });
  }

  /** The next publish may be of another session, and another node may have pushed in between: the actor may know nothing. */
  #goOn(one: Running, now: WantedPush): void {
    one.of = now;
    if (one.holder.publish === now.publish) return;
    one.holder = { ...one.holder, publish: now.publish };
    this.#facts.add(now, { type: 'begun', holder: one.holder });
    this.#reportState(one);
  }
}

export type WantedPush = Pushed & {
  /** Number of the publish that is on the air. */
  readonly publish: number;
};

interface Running {
  of: WantedPush;
  holder: Holder;
  isConnected: boolean;
  trouble: PushTrouble | undefined;
}

function keyOf(playbackId: string, id: string): string {
  return `${playbackId} ${id}`;
}

/** Facts of one push that wait while the store does not answer. */
const maxWaiting = 16;

/**
 * Reports to the actors of pushes what this node saw, each push's facts in order, again and again until they are stored. The
 * first fact creates the actor.
 */
function pushFacts(kit: MultistreamKit) {
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
      const { id, pair } = pushIds(of);
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
type Pushed = Omit<Push, 'id' | 'pair' | 'createdAt'>;

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
  const row = await kit.resources.find(pushKind, 'pair', pair);
  if (!row || (JSON.parse(row.body) as Pushed).sessionId === sessionId) return;
  await kit.actors
    .ask(push, row.id, { type: 'over' }, { cause: `push/former/${row.id}` })
    .catch(unlessRefused);
}
