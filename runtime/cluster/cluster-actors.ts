import { Fault, hasCode } from '../../core/base/fault.ts';
import { uuid } from '../../core/base/ids.ts';
import type { Actors, ActorType } from '../../core/plugin/actor.ts';
import { type JobResult, thaw } from '../../core/plugin/step.ts';
import type { Bus } from '../../core/ports/bus.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Job } from '../../core/ports/jobs.ts';
import type { Store } from '../../core/ports/store.ts';
import { idOf, nameOf, partitionOf } from '../actors/actor-name.ts';
import type { ActorTypes } from '../actors/actor-types.ts';
import { refusals } from '../actors/refusals.ts';
import { viewOf } from '../actors/step-commit.ts';
import { type Answer, thrownFault, unknownOutcome } from './answer.ts';
import type { Command, CommandBody, NodeAddress } from './command.ts';

/** Commands of this node that wait for their answer. Beyond: 503 `server.busy`; the command is not sent. */
export const maxAsks = 2000;
/** How long a command may wait for its answer, ms: requests are answered within 10 s. Beyond: 503 `store.unknown`: it may still be carried out. */
const askTime = 9000;
/** How long a node that stops waits for the answers to its commands, ms. */
const stopTime = 3000;

/**
 * Actors that live somewhere in the deployment. What is asked of one goes onto the log of its partition, also when this
 * node owns that: a replay must find everything that was acknowledged. The owner tells the answer.
 */
export class ClusterActors implements Actors {
  readonly #options: ClusterActorsOptions;
  /** By the id of the command, in the order of the asking. */
  readonly #waiting = new Map<string, Waiting>();
  #isStopped = false;
  #cancelSweep: (() => void) | undefined;
  #onQuiet = () => {};

  constructor(options: ClusterActorsOptions) {
    this.#options = options;
  }

  /** Commands that wait for their answer. */
  get waiting(): number {
    return this.#waiting.size;
  }

  // biome-ignore lint/suspicious/noExplicitAny: the public types are those of the Actors interface
  async spawn(type: ActorType<any, never>, id: string, input: unknown, options: Cause = {}): Promise<any> {
    const answer = await this.#ask(this.#name(type, id), { type: 'spawn', input, ...options });
    return 'view' in answer ? answer.view : undefined;
  }

  async ask(
    // biome-ignore lint/suspicious/noExplicitAny: as above
    type: ActorType<any, never>,
    id: string,
    command: { readonly type: string },
    options: Cause = {},
    // biome-ignore lint/suspicious/noExplicitAny: as above
  ): Promise<any> {
    const answer = await this.#ask(this.#name(type, id), { type: 'ask', command, ...options });
    return 'view' in answer ? answer.view : undefined;
  }

  /**
   * Gives the result of a job to the actor that asked for it, and finishes the job in the same commit. `stale`: the actor does
   * not wait for it any more, the job is still there. `lost`: this owner does not hold it any more.
   */
  async conclude(
    { id: job, actor, child }: Pick<Job, 'id' | 'actor' | 'child'>,
    { owner, result }: { owner: string; result: JobResult },
  ): Promise<'ok' | 'stale' | 'lost'> {
    const answer = await this.#ask(actor, { type: 'result', child, job, owner, result });
    return 'outcome' in answer ? answer.outcome : 'stale';
  }

  /** Resolves when all that is on the log of a partition by now is stored. */
  async mark(partition: number): Promise<void> {
    await this.#command({ partition, key: `mark/${partition}` }, { type: 'mark' });
  }

  // biome-ignore lint/suspicious/noExplicitAny: as above
  async read(type: ActorType<any, never>, id: string): Promise<any> {
    const { store, types, partitions, certain } = this.#options;
    const entry = types.registered(type);
    const stored = await certain(() => store.load(nameOf(type, id)), partitionOf(id, partitions));
    return stored && viewOf(thaw(entry.type, stored));
  }

  /** What a node told; for a command that nobody waits for any more it means nothing. */
  hear(id: string, answer: Answer): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    waiting?.resolve(answer);
    if (this.#waiting.size === 0) this.#onQuiet();
  }

  /** Takes no further commands. Resolves when those that wait have their answer, or have had the time to get it. */
  async stop(): Promise<void> {
    const { clock } = this.#options;
    this.#isStopped = true;
    if (this.#waiting.size > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onQuiet = resolve;
      const cancel = clock.at(clock.now() + stopTime, resolve);
      await promise;
      cancel();
    }
    this.#cancelSweep?.();
  }

  #name(type: { readonly type: string }, id: string): string {
    return nameOf(this.#options.types.registered(type).type, id);
  }

  #ask(actor: string, body: CommandBody & Cause): Promise<Answer> {
    const partition = partitionOf(idOf(actor), this.#options.partitions);
    return this.#command({ partition, key: actor }, body);
  }

  async #command(
    to: Pick<Parameters<Bus['send']>[0], 'partition' | 'key'>,
    body: (CommandBody & Cause) | { readonly type: 'mark' },
  ): Promise<Answer> {
    const { self, clock, bus } = this.#options;
    if (this.#isStopped) throw refusals.stopping('The server is stopping.');
    if (this.#waiting.size >= maxAsks) throw tooMany();
    const id = uuid();
    const command: Command = { id, ...body, replyTo: self };
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const due = clock.now() + askTime;
    this.#waiting.set(id, { due, resolve });
    this.#cancelSweep ??= clock.at(due, () => this.#sweep());
    bus.send({ ...to, value: JSON.stringify(command) }).catch((error: unknown) => {
      // Otherwise it may be on the log, and its answer may come.
      if (hasCode(error, 'bus.unknown')) return;
      reject(error);
      this.hear(id, { fault: unknownOutcome });
    });
    const answer = await promise;
    if ('fault' in answer) throw thrownFault(answer.fault);
    return answer;
  }

  /** Those that have waited long enough: all wait equally long. */
  #sweep(): void {
    const { clock } = this.#options;
    this.#cancelSweep = undefined;
    for (const [id, { due }] of this.#waiting) {
      if (due > clock.now()) {
        this.#cancelSweep = clock.at(due, () => this.#sweep());
        return;
      }
      this.hear(id, { fault: unknownOutcome });
    }
  }
}

interface Waiting {
  /** Epoch ms. */
  readonly due: number;
  resolve(answer: Answer): void;
}

interface Cause {
  readonly cause?: string;
}

interface ClusterActorsOptions {
  readonly bus: Bus;
  readonly store: Pick<Store, 'load'>;
  readonly clock: Clock;
  readonly types: ActorTypes;
  /** How many there are. */
  readonly partitions: number;
  readonly self: NodeAddress;
  /** See `CatchUp`. */
  certain<T>(read: () => Promise<T | undefined>, partition: number): Promise<T | undefined>;
}

function tooMany(): Fault {
  const message = 'Too many commands wait for their answer already; this one was not sent.';
  return new Fault('server.busy', { status: 503, message, retryAfter: 1 });
}
